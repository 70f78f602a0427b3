/* vocabulary.h - tutti.vocabulary/1: what the tokens of a dataset stand for. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_VOCABULARY_H
#define TUTTI_VOCABULARY_H

#include "base.h"

TUTTI_C_BEGIN

#define TUTTI_VOCABULARY_V1 "tutti.vocabulary/1"

/* A dataset of tokens answers this to query where it knows what they mean.  The bytes of all tokens
 * of a text, one after the other, are that text. */
typedef struct tutti_vocabulary_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* The tokens of `size` bytes of UTF-8: writes the first `room` of them and sets *ret_count to
     * how many there are: at most `size`.  A tokenizer that rewrites the text may make more of it, which fails where the
     * caller counts on the bound: E_RANGE, with *ret_count set, room for `size` tokens or more is too little.  Other
     * errors say which byte has no token.  [any] */
    tutti_status (*encode)(void *self, const char *text, uint64_t size, int32_t *tokens,
                           uint64_t room, uint64_t *ret_count, tutti_error *err);
    /* The *ret_size bytes of one token, not ended by a zero; they may be a part of a character.
     * NULL when there is no such token.  Lives until the dataset's close.  [any] */
    const char *(*token)(void *self, int64_t token, uint64_t *ret_size);
} tutti_vocabulary_v1;

TUTTI_C_END
#endif
