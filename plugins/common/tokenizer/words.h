/* words.h - a table from spellings to ids. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENIZER_WORDS_H
#define TOKENIZER_WORDS_H

#include "tutti/base.h"

#include <stdbool.h>

/* Where a spelling stands, and its id. */
typedef struct word {
    const char *text; /* NULL: an empty place */
    uint32_t size;
    int32_t id;
} word;

/* Open addressing; at most half of the places are taken.  A zeroed one is empty. */
typedef struct words {
    word *places;
    uint64_t count;
    uint32_t bits;
    uint32_t longest; /* bytes of a spelling */
} words;

uint64_t words_hash(const char *text, uint64_t size);

/* Adds a spelling, whose bytes the caller keeps; one that is there gets the new id.  false: no memory. */
TUTTI_NODISCARD bool words_put(words *w, const char *text, uint64_t size, int32_t id);
/* Its id, or -1. */
int32_t words_find(const words *w, const char *text, uint64_t size);
void words_free(words *w);

#endif
