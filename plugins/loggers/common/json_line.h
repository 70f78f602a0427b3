/* json_line.h - what is logged, as objects of JSON that fit on a line each. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOGGERS_JSON_LINE_H
#define LOGGERS_JSON_LINE_H

#include "../logger.h"

#include <stdio.h>

struct tutti_table; /* of minor 1 */

/* Each writes one line with its newline; numbers read back exactly.  Errors are `out`'s.  [any] */
void json_line_metrics(FILE *out, const tutti_named_value *values, uint32_t n, uint64_t step,
                       int64_t epoch);
void json_line_hyperparameters(FILE *out, const tutti_named_text *values, uint32_t n);
void json_line_trace(FILE *out, const tutti_trace *trace);
void json_line_message(FILE *out, int32_t level, const char *component, const char *text);
void json_line_table(FILE *out, const struct tutti_table *table, uint64_t step);

/* {"columns":["a"],"data":[[1],[2]]}, without a newline: pandas' orient="split". */
void json_line_split(FILE *out, const struct tutti_table *table);

/* {"time":1700000000.123,"kind":"metrics", without what follows. */
void json_line_begin(FILE *out, const char *kind);
/* A string with its quotes. */
void json_line_string(FILE *out, const char *text);
/* The shortest text that reads back as the same number; NaN and infinities are strings. */
void json_line_number(FILE *out, double v);

#endif
