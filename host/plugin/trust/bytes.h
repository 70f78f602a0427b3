/* bytes.h - what a file holds, taken from it once: what is hashed and judged is what is used. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_TRUST_BYTES_H
#define HOST_PLUGIN_TRUST_BYTES_H

#include "plugin/trust/trust.h"

#include <stddef.h>

typedef struct bytes {
    unsigned char
        *data; /* followed by a 0 that `size` does not count, unless sealed; NULL: nothing */
    size_t size;
    int fd; /* of memory that nobody can change any more, which `data` shows; -1: `data` is on the heap */
} bytes;

/* All of a held file of at most `limit` bytes, which has not changed since it was opened.  The caller frees
 * *ret.  Errors: E_RANGE when it is larger; E_TRUST; E_IO; E_NOMEM. */
TUTTI_NODISCARD tutti_status bytes_read(const held *file, size_t limit, bytes *ret,
                                        tutti_error *err);
/* The same in sealed memory: no process, not this one either, can change what /proc/self/fd/<fd> gives.
 * Errors also: E_FORMAT when it is empty. */
TUTTI_NODISCARD tutti_status bytes_seal(const held *file, bytes *ret, tutti_error *err);
void bytes_free(bytes *b);

/* SHA-256 in lower-case hexadecimal digits; `path` stands in the message.  Error: E_FAIL. */
#define BYTES_HEX_SIZE 65
TUTTI_NODISCARD tutti_status bytes_sha256(const bytes *b, const char *path, char *hex,
                                          tutti_error *err);

#endif
