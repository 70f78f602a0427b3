/* pack.h - documents of tokens as rows of one length, with what stands in each place. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENTS_PACK_H
#define DOCUMENTS_PACK_H

#include "tutti/dataset.h"

/* Tokens that are to be predicted from those before them in the same piece. */
typedef struct pack_piece {
    uint64_t at;   /* of its first token */
    uint32_t size; /* of tokens, 2 at least: size - 1 places */
    uint32_t reserved;
} pack_piece;

typedef enum packing { PACK_NONE, PACK_WHOLE, PACK_CUT, PACK_STREAM } packing;
typedef enum too_long { TOO_LONG_CUT, TOO_LONG_DROP, TOO_LONG_REFUSE } too_long;

/* Rows of `length` places.  A zeroed one is empty. */
typedef struct pack {
    packing packing;
    too_long too_long;
    int64_t length;
    pack_piece *pieces;
    uint64_t count, capacity;
    uint64_t *rows; /* the first piece of each */
    uint64_t nrows, rows_capacity;
    uint64_t used; /* places of the last row; the length when it is closed */
} pack;

void pack_free(pack *p);
/* Puts a document of `size` tokens from `at` on into the last row and into new ones.  `where` names it in the
 * error E_RANGE of one that is longer than a row. */
TUTTI_NODISCARD tutti_status pack_add(pack *p, uint64_t at, uint64_t size, const char *where,
                                      tutti_error *err);
/* All documents are there, in `tokens` tokens: PACK_STREAM has rows from here on. */
void pack_end(pack *p, uint64_t tokens);

/* What the columns of a row are made of. */
typedef struct pack_source {
    const int32_t *tokens;
    const unsigned char *learnt; /* of each token: whether it is to be predicted */
    int32_t padding;
} pack_source;
/* Columns input and target, and attention_mask for PACK_NONE, none for PACK_STREAM, else document_ids and position_ids:
 * (length) i32 each.
 * Places behind the last piece have the padding, the target -100, the mask 0 and a document of their own. */
void pack_read(const pack *p, const pack_source *from, int64_t row, int32_t *const *columns);

#endif
