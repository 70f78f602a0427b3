/* cells.h - cells of a table as JSON, one after the other, each ended by a zero. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EVAL_OUTPUT_LOGGING_CELLS_H
#define EVAL_OUTPUT_LOGGING_CELLS_H

#include "tutti/vocabulary.h"

#include <stdbool.h>
#include <stdio.h>

/* What tokens mean; `table` is NULL where nobody knows. */
typedef struct vocabulary {
    const tutti_vocabulary_v1 *table;
    void *dataset;
} vocabulary;

/* Each writes one cell.  Errors are `out`'s. */
void cell_integers(FILE *out, const int32_t *values, int64_t n, bool as_list);
/* NaN and infinities are texts. */
void cell_numbers(FILE *out, const float *values, int64_t n, bool as_list);
void cell_bool(FILE *out, bool value);
void cell_string(FILE *out, const char *text);
/* The text of those tokens that are not below 0; what is no UTF-8 becomes U+FFFD.  False: no memory. */
bool cell_text(FILE *out, const vocabulary *v, const int32_t *tokens, int64_t n);

#endif
