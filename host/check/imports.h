/* imports.h - calls of a library into others, counted, refused or made to fail. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CHECK_IMPORTS_H
#define HOST_CHECK_IMPORTS_H

#include <stdint.h>

/* Remembers which libraries there are: those that come later belong to the plugin. */
void imports_begin(void);
/* From now on calls of allocation and calls that are the host's alone go through here, from the library at
 * `path` and from those that came with it.  Returns how many places were redirected. */
int imports_redirect(const char *path);

/* The n-th allocation from now on fails, counting from 1; 0: none does.  [control] */
void imports_fail(int64_t n);
/* Allocations since the last imports_fail.  [any] */
int64_t imports_count(void);
/* The first call of a function that only the host calls ("setlocale") since the last time; NULL: none. */
const char *imports_forbidden(void);

#endif
