/* image.h - libraries of plugins in this process: loaded from sealed memory, under their files' names. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_IMAGE_H
#define HOST_PLUGIN_IMAGE_H

#include "plugin/needs.h"

/* A loaded library; lives as long as the process. */
typedef struct image image;

/* Loads the library at `path` with what it needs, each from the sealed memory of `library` and `n`, which it may
 * take over.  A library of the same path and content is loaded once.  Without sealed memory the system's loader
 * reads `path` and looks for the rest itself.  Constructors run in here.
 * Errors: E_IO with the loader's sentence; E_TRUST another plugin has loaded another library by a name that this
 * one needs; E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status image_load(const char *path, bytes *library, needs *n, image **ret,
                                        tutti_error *err);

/* A library of the system's by its name, which the system's loader looks for as for the program's own.
 * Errors: E_IO with the loader's sentence; E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status image_load_system(const char *soname, image **ret,
                                               tutti_error *err);

/* What it exports, or NULL. */
void *image_symbol(const image *i, const char *name);
/* Where one of image_load lies: what the addresses in its headers count from. */
uintptr_t image_base(const image *i);

/* Whether the process has a library by this name that no plugin has brought along: the program's own, or the
 * system's. */
bool image_is_programs(const char *name);

#endif
