/* asked.h - prompts and what may be answered, for evaluations that generate: columns prompt and references. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENTS_ASKED_H
#define DOCUMENTS_ASKED_H

#include "compose.h"
#include "pack.h"

#include "tokenizer.h"

/* References of each row, `most` places, of which the last may be empty.  A zeroed one is empty. */
typedef struct asked {
    int64_t most;         /* of a row; 0: there are no such columns */
    tokenizer_ids tokens; /* of all references, one after the other */
    uint64_t *end;        /* (count): of each of them in `tokens` */
    uint64_t count, capacity;
} asked;

void asked_free(asked *a);
/* Takes the completions of the record that has become the next row.  Errors: E_FORMAT one is no string, E_RANGE there are
 * more than `most`, or one has more than `length` tokens. */
TUTTI_NODISCARD tutti_status asked_add(asked *a, tokenizer_encoder *encoder, const compose *how,
                                       const json_t *record, int64_t length, const char *where,
                                       tutti_error *err);
/* The row's prompt (length), its tokens before the first that is learnt, and its references (most, length); -1 behind
 * each.  Rows are documents. */
void asked_read(const asked *a, const pack *p, const pack_source *from, int64_t row,
                int32_t *prompt, int32_t *references);

#endif
