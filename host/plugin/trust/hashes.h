/* hashes.h - a list of files with their SHA-256, in the lines of sha256sum. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_TRUST_HASHES_H
#define HOST_PLUGIN_TRUST_HASHES_H

#include "plugin/trust/bytes.h"

typedef struct hashes hashes; /* opaque */

/* Reads lines of 64 digits, two spaces and a path: absolute ones, or such as lie below a folder ("a/b", no "..").
 * `name` stands in messages.  The text is the list's from then on, also on failure; the caller frees *ret.
 * Errors: E_FORMAT with the line; E_NOMEM. */
TUTTI_NODISCARD tutti_status hashes_read(const char *name, bytes *text, bool absolute,
                                         hashes **ret, tutti_error *err);
void hashes_free(hashes *h); /* NULL is allowed */

const char *hashes_name(const hashes *h);
/* The digits of the first line with this path, or NULL. */
const char *hashes_find(const hashes *h, const char *path);
const char *hashes_path(const hashes *h, size_t k); /* of the k-th line; NULL past the last */

#endif
