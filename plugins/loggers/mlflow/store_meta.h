/* store_meta.h - meta.yaml, which says what a folder of the store is. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLFLOW_STORE_META_H
#define MLFLOW_STORE_META_H

#include "tutti/tutti.h"

#include <stddef.h>

typedef enum meta_form {
    META_TEXT, /* in quotes: 12 stays a text */
    META_BARE, /* a number, null */
    META_LIST  /* empty */
} meta_form;

typedef struct meta_entry {
    const char *key;
    const char *value; /* NULL for META_LIST */
    meta_form form;
} meta_entry;

/* Errors: those of store_write; E_ARG a text is no UTF-8; E_NOMEM. */
TUTTI_NODISCARD tutti_status meta_write(const char *path, const meta_entry *entries, size_t n,
                                        tutti_error *err);
/* Gives keys other values; the rest of the file keeps its meaning.  Errors: also E_IO, the file cannot be read or is no
 * mapping with these keys. */
TUTTI_NODISCARD tutti_status meta_set(const char *path, const meta_entry *entries, size_t n,
                                      tutti_error *err);
/* The value of a key, the caller's; NULL: there is none. */
char *meta_get(const char *path, const char *key);

#endif
