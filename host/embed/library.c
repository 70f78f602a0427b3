/* library.c - the file that the loader took our own code from. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/library.h"

#include <dlfcn.h>
#include <stdlib.h>

static const char anchor; /* somewhere in this library */

bool library_path(char path[PATH_MAX])
{
    Dl_info info;
    return dladdr(&anchor, &info) && info.dli_fname && realpath(info.dli_fname, path);
}
