/* nearest.h - the word of a list that a misspelt one was meant for, by edit distance, and the question that asks it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_NEAREST_H
#define HOST_BASE_NEAREST_H

#define NEAREST_WORD_MAX 63 /* bytes; a longer word is nearest to none, and none to it */

/* The entry of `words` (NULL-terminated, may be NULL) that is nearest to `word` by edit distance, if it is near enough
 * to be meant; else NULL.  [any] */
const char *nearest_word(const char *word, const char *const *words);

/* What a sentence about a word that is not known ends with. */
typedef struct suggestion {
    const char *word;                 /* the nearest; NULL: there is none */
    char text[NEAREST_WORD_MAX + 17]; /* "; did you mean X?", or "" */
} suggestion;

/* The suggestion for `word`; of NULL there is none.  [any] */
suggestion suggest_word(const char *word, const char *const *words);

#endif
