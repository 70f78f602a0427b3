/* pins.h - the operator's lock file: which files may be loaded, each with its SHA-256. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_PINS_H
#define HOST_PLUGIN_PINS_H

#include "tutti/base.h"

typedef struct pins pins; /* opaque */

/* Reads the file once.  It has the lines that sha256sum writes: digits, two spaces, absolute path.  Nobody but
 * root and we may write it, nor the folders above it.  The caller frees *ret.
 * Errors: E_NOTFOUND; E_TRUST; E_FORMAT with the line; E_RANGE when it is larger than 16 MiB; E_IO; E_NOMEM. */
TUTTI_NODISCARD tutti_status pins_read(const char *path, pins **ret, tutti_error *err);
void pins_free(pins *p); /* NULL is allowed */

/* The file at `path` must stand there with this SHA-256.  Error: E_TRUST. */
TUTTI_NODISCARD tutti_status pins_admit(const pins *p, const char *path, const char *hex,
                                        tutti_error *err);

#endif
