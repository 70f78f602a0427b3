/* faults.h - a list of everything wrong with an input, so that all of it is reported at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_FAULTS_H
#define HOST_BASE_FAULTS_H

#include "base/json.h"

typedef struct faults faults; /* opaque */

faults *faults_create(void);    /* NULL when out of memory */
void faults_destroy(faults *f); /* NULL is allowed */

/* Adds one sentence.  With `at` it is headed by "file:line: path: ". */
TUTTI_PRINTF(3, 4)
void faults_add(faults *f, const json_node *at, const char *format, ...);

/* Adds "out of memory": the input could not be judged.  `at` as above. */
void faults_add_no_memory(faults *f, const json_node *at);

/* Whether one of them is that, or found no memory for its own words. */
bool faults_lack_memory(const faults *f);

/* The input may be of a newer format than this host reads: words that it does not know, given to
 * faults_add_word, go to `notes` instead, but for those of `must` (NULL-terminated, may be NULL).  All borrowed. */
void faults_be_lenient(faults *f, faults *notes, const char *const *must);

bool faults_lenient(const faults *f);

/* As faults_add, because of a word that is not known. */
TUTTI_PRINTF(4, 5)
void faults_add_word(faults *f, const json_node *at, const char *word, const char *format, ...);

size_t faults_count(const faults *f);
const char *faults_text(const faults *f, size_t k); /* k-th sentence, borrowed */

#endif
