/* library.h - where this library, or the program that it is part of, lies. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_EMBED_LIBRARY_H
#define HOST_EMBED_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

/* Its path without symbolic links; false when it is not known. */
bool library_path(char path[PATH_MAX]);

#endif
