/* output_file.h - files that users name, written whole or not at all; pipes and devices are written as they are. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_OUTPUT_FILE_H
#define HOST_BASE_OUTPUT_FILE_H

#include "tutti/base.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct output_file {
    FILE *file;   /* to write to, in order; output_file_close finds a write that failed */
    char *target; /* the file that is meant: the path with its symbolic links followed */
    /* target.part, which is written; NULL: the target itself, which is no regular file. */
    char *part;
} output_file;

/* Opens what `path` names for writing.  A regular file, or one that is not there, is replaced at once by
 * output_file_close, so that one that fails leaves it as it was; where `path` is a symbolic link, the link stays.
 * Anything else, such as a named pipe, is written directly, and a pipe waits for who reads it.  /dev/stdout,
 * /dev/stderr and /dev/fd/N are the descriptors of this process, where they are.
 * `why_regular`: why the content cannot go into a stream, as a sentence's end, or NULL when it can.
 * Errors: E_UNSUPPORTED for what is no regular file when `why_regular` is given, which is not opened then;
 * E_IO; E_NOMEM.  Nothing is left to close then.  [any] */
TUTTI_NODISCARD tutti_status output_file_open(const char *path, const char *why_regular,
                                              output_file *ret, tutti_error *err);

/* Closes the file.  With `keep` a regular file gets its name; else, and where that fails, the target stays as it was.
 * Errors, with `keep` alone: E_IO or E_NOMEM when a write failed, for the reason that errno has.  [any] */
TUTTI_NODISCARD tutti_status output_file_close(output_file *f, bool keep, tutti_error *err);

/* Where `path` leads: through symbolic links, the last of which may name nothing.  *ret_target is the caller's to
 * free.  Errors: E_IO for links in a circle, with errno; E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status output_file_target(const char *path, char **ret_target,
                                                tutti_error *err);

/* Whether `path` names something that is there and no regular file, or a descriptor of this process.  [any] */
bool output_file_is_stream(const char *path);

/* Whether what is written to `path` goes where standard output goes.  [any] */
bool output_file_is_stdout(const char *path);

#endif
