/* label_names.h - texts as classes: those of a file in its order, or all that occur in the order of their bytes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DATASETS_LABEL_NAMES_H
#define DATASETS_LABEL_NAMES_H

#include "tutti/base.h"

typedef struct label_name {
    char *text; /* a 0 follows */
    uint64_t size;
    int64_t class;
} label_name;

typedef struct label_names {
    label_name *items; /* in the order of their bytes */
    int64_t count, capacity;
} label_names;

/* Of a file with a label a line.  Errors, which name it: E_IO, E_FORMAT (the same label twice), E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status label_names_read(label_names *n, const char *path,
                                              tutti_error *err);
/* Adds a label unless it is there; its class is its place once all are added.  E_NOMEM; E_RANGE more than 2^24.
 * [control] */
TUTTI_NODISCARD tutti_status label_names_add(label_names *n, const void *text, uint64_t size,
                                             tutti_error *err);
void label_names_number(label_names *n);
/* -1: there is no such label.  [any] */
int64_t label_names_class(const label_names *n, const void *text, uint64_t size);
/* What the class is called, up to a 0 in it; NULL: there is no such class. */
const char *label_names_text(const label_names *n, int64_t class);
void label_names_free(label_names *n);

#endif
