/* records.h - the lines of a JSON lines, CSV or TSV file, each with its fields by name. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DATASETS_RECORDS_H
#define DATASETS_RECORDS_H

#include "tutti/base.h"

#include <jansson.h>

typedef enum records_format { RECORDS_JSONL, RECORDS_CSV, RECORDS_TSV } records_format;

/* A file that is read once, front to back. */
typedef struct records {
    const char *path;
    char *data;
    uint64_t size;
    uint64_t at;   /* of what is not read yet */
    uint64_t line; /* of `at`, from 1 */
    uint64_t here; /* the line where the last record began */
    json_t *names; /* of CSV's columns, a list */
    char separator;
    records_format format;
} records;

/* By the ending of the path if `format` is "auto".  A byte order mark is skipped.  Errors: E_IO, E_FORMAT. */
TUTTI_NODISCARD tutti_status records_open(records *r, const char *path, const char *format,
                                          tutti_error *err);
void records_close(records *r);

/* The next record, an object that the caller releases, of CSV with strings alone; NULL at the end.  Empty
 * lines are skipped.  Errors: E_FORMAT with the line. */
TUTTI_NODISCARD tutti_status records_next(records *r, json_t **ret, tutti_error *err);

#endif
