/* autotune_file.h - pairs of strings in a file that several processes add to. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_RUNTIME_AUTOTUNE_FILE_H
#define HOST_GRAPH_RUNTIME_AUTOTUNE_FILE_H

#include "tutti/base.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct choice {
    char *key;
    char *algorithm;
} choice;

/* What is in the file.  Text: a line that says what it is, then lines of key, tab, algorithm. */
typedef struct choices {
    choice *list;
    size_t count;
} choices;

/* Adds what the file at `path` holds; a file that is not there holds nothing.  Errors leave *c
 * empty: E_FORMAT says which line is wrong, or that it is a named pipe; E_IO, E_NOMEM. */
TUTTI_NODISCARD tutti_status choices_read(choices *c, const char *path, tutti_error *err);
/* NULL when there is none. */
const char *choices_find(const choices *c, const char *key);
/* The algorithm of `key` is now `algorithm`; copies both. */
TUTTI_NODISCARD tutti_status choices_set(choices *c, const char *key, const char *algorithm,
                                         tutti_error *err);
/* Replaces the file at once; its folder exists.  Errors: E_UNSUPPORTED for what is no regular file; E_IO, E_NOMEM. */
TUTTI_NODISCARD tutti_status choices_write(const choices *c, const char *path,
                                           tutti_error *err);
void choices_fini(choices *c);

/* Where measured choices are kept: $XDG_CACHE_HOME/tutti/kernels, else below $HOME; NULL: nowhere,
 * or TUTTI_TUNE is 0 and nothing is measured. */
const char *choices_path(char *path, size_t size);

/* TUTTI_TUNE is 1: choices are kept that were made while other processes had the processors. */
bool choices_keep_disturbed(void);

/* Makes the folders of `path` and waits for its lock file.  The descriptor to close, or -1. */
int choices_lock(const char *path, tutti_error *err);

#endif
