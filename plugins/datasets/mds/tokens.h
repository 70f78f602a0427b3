/* tokens.h - a column of token numbers as the input and the target of a language model. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_TOKENS_H
#define PLUGIN_MDS_TOKENS_H

#include "encoding.h"

/* A sample of T + 1 tokens t has the input t[0] .. t[T - 1] and the target t[1] .. t[T], both (T) i32. */
typedef struct mds_tokens {
    mds_encoding encoding; /* of the column */
    int64_t length;        /* T */
    int64_t classes;       /* size of the vocabulary; 0: not known */
    int32_t from;          /* the column; -1: the set is none of tokens */
    int32_t reserved;
} mds_tokens;

/* Whether a column holds tokens, if that is what it is for: an array of whole numbers, or bytes, in which numbers of
 * `type` stand ("int64", "uint16", ...). */
int mds_tokens_fit(const char *encoding, const char *type, mds_encoding *ret);
/* How many a field holds.  E_FORMAT with `why`.  [any] */
TUTTI_NODISCARD tutti_status mds_tokens_count(const mds_tokens *t, const mds_field *f,
                                              int64_t *ret, char why[IMAGE_WHY_SIZE]);
/* Tokens `first` to `first` + length - 1 of a field; of a known vocabulary, which they are in.  Errors, with `why`:
 * E_FORMAT, E_SHAPE too few, E_RANGE.  [any] */
TUTTI_NODISCARD tutti_status mds_tokens_read(const mds_tokens *t, const mds_field *f,
                                             int64_t first, int32_t *to,
                                             char why[IMAGE_WHY_SIZE]);
/* The largest of all the tokens of a field.  Errors as above.  [any] */
TUTTI_NODISCARD tutti_status mds_tokens_largest(const mds_tokens *t, const mds_field *f,
                                                int64_t *ret, char why[IMAGE_WHY_SIZE]);

#endif
