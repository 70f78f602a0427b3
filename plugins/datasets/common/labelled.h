/* labelled.h - records of one class each: which tokens are whose, and what the classes are called. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DATASETS_LABELLED_H
#define DATASETS_LABELLED_H

#include "label_names.h"

#include <jansson.h>

typedef struct labelled_row {
    uint64_t at; /* of its first token */
    uint64_t size;
    union {
        char *text;     /* the label, until labelled_number */
        int64_t number; /* the class, from then on */
    } label;
} labelled_row;

/* A zeroed one is empty. */
typedef struct labelled {
    labelled_row *rows;
    uint64_t nrows, capacity;
    int numbered;      /* labels are classes */
    int64_t classes;   /* how many */
    label_names names; /* none where labels are whole numbers, which are the classes */
} labelled;

void labelled_free(labelled *l);

/* Adds tokens [at, at + size) with the label in the record's `field`: a string, or a whole number.  Errors say what of
 * `where` is missing or of another type; E_NOMEM. */
TUTTI_NODISCARD tutti_status labelled_add(labelled *l, uint64_t at, uint64_t size,
                                          const json_t *record, const char *field,
                                          const char *where, tutti_error *err);
/* Makes labels into classes once all are there: by the lines of the file `labels`; without one (NULL) whole numbers are
 * classes themselves, else all labels in the order of their bytes are.  Errors name `path`, the data's: E_FORMAT a label
 * is not in the file; E_RANGE a number is above 2^24; those of label_names_read. */
TUTTI_NODISCARD tutti_status labelled_number(labelled *l, const char *labels, const char *path,
                                             tutti_error *err);

/* The columns of row k: `length` tokens, behind the last of them `padding`; the class; 1 for each token, else 0. */
void labelled_read(const labelled *l, int64_t k, const int32_t *tokens, int32_t padding,
                   int64_t length, int32_t *const *columns);

#endif
