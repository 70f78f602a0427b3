/* fields.h - which fields of a record are read, and their numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TABLE_FIELDS_H
#define TABLE_FIELDS_H

#include "tutti/base.h"
#include "tutti/params.h"

#include <jansson.h>

typedef struct field {
    char *name;
    uint64_t values; /* numbers that it holds: 1, or the length of its list */
} field;

/* A zeroed one is empty. */
typedef struct fields {
    field *items;
    uint64_t count;
    uint64_t width; /* numbers of all fields */
} fields;

/* Numbers of a row under construction. */
typedef struct numbers {
    float *data;
    uint64_t count, capacity;
} numbers;

/* Fields by the setting's names.  Errors: E_ARG a name twice; E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status fields_name(fields *f, const tutti_param *names, tutti_error *err);
/* All fields of `record` that are not in `but`, in its order.  Errors: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status fields_rest(fields *f, const json_t *record, const fields *but,
                                         tutti_error *err);
void fields_free(fields *f);

/* Adds the numbers of a record's fields: numbers, true and false, texts that are numbers, lists of these.  The first record
 * sets how many a field holds.  `missing` (NULL: none) counts where a field is empty or null; `advice` ends the sentence
 * about a text that is no number.  Errors, which begin with `where`: E_FORMAT, E_SHAPE, E_RANGE above f32, E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status fields_read(fields *f, const json_t *record, const double *missing,
                                         const char *advice, const char *where, numbers *n,
                                         tutti_error *err);

#endif
