/* store_file.h - files and folders of a store: written whole or not at all, with the folders on their way. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLFLOW_STORE_FILE_H
#define MLFLOW_STORE_FILE_H

#include "tutti/tutti.h"

#include <stdbool.h>
#include <stddef.h>

enum { STORE_PATH = 2048 };

/* A path of parts whose lengths are bounded: the root's 639, ids' 64 and names' 512. */
void store_path(char to[STORE_PATH], const char *format, ...) TUTTI_PRINTF(2, 3);

/* Whether `name` leads to a file below a folder: parts of it are neither empty nor "." nor "..". */
bool store_is_path(const char *name);
/* Whether it is also a name that MLflow reads back: letters and digits of ASCII, "_", "-", ".", ":", "/" and blanks,
 * at most 250. */
bool store_is_name(const char *name);

/* Errors of all: E_ARG another file is in the way, or a name is too long; E_IO. */
TUTTI_NODISCARD tutti_status store_make_folder(const char *path, tutti_error *err);
TUTTI_NODISCARD tutti_status store_write(const char *path, const char *data, size_t size,
                                         tutti_error *err);
/* What was there stays as it was when it fails. */
TUTTI_NODISCARD tutti_status store_append(const char *path, const char *data, size_t size,
                                          tutti_error *err);
/* The file as a text, the caller's; NULL: it cannot be read. */
char *store_read(const char *path);
bool store_is_there(const char *path);

#endif
