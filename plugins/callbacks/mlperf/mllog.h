/* mllog.h - lines of MLPerf's log, as its package mlperf_logging writes them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLPERF_MLLOG_H
#define MLPERF_MLLOG_H

#include "tutti/base.h"

#include <stdbool.h>
#include <stdio.h>

enum { MLLOG_START, MLLOG_POINT };

/* One line: `value` and the members of `metadata` behind the call site's are JSON; NULL: null, none. */
void mllog_line(FILE *out, int type, const char *key, const char *value, const char *metadata,
                int line);
/* A number as Python writes it in JSON: 0.75, 1.0, 1e-05, NaN.  Returns `text`. */
const char *mllog_number(double v, char *text, size_t size);
/* A text in quotes, escaped.  Returns `text`, cut to its size. */
const char *mllog_text(const char *from, char *text, size_t size);

#endif
