/* pins.h - the operator's lock file: which files may be loaded, each with its SHA-256. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_TRUST_PINS_H
#define HOST_PLUGIN_TRUST_PINS_H

#include "plugin/trust/hashes.h"

/* Reads the file once.  It has the lines that sha256sum writes, with absolute paths.  Nobody but root and we may
 * write it, nor the folders above it.  The caller frees *ret.
 * Errors: E_NOTFOUND; E_TRUST; E_FORMAT with the line; E_RANGE when it is larger than 16 MiB; E_IO; E_NOMEM. */
TUTTI_NODISCARD tutti_status pins_read(const char *path, hashes **ret, tutti_error *err);

/* The file at `path` must stand there with this SHA-256.  Error: E_TRUST. */
TUTTI_NODISCARD tutti_status pins_admit(const hashes *pins, const char *path, const char *hex,
                                        tutti_error *err);

#endif
