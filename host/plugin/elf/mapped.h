/* mapped.h - the bytes of an object file, read within their bounds. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_ELF_MAPPED_H
#define HOST_PLUGIN_ELF_MAPPED_H

#include "tutti/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mapped {
    const char *path; /* borrowed */
    const unsigned char *data;
    size_t size;
} mapped;

/* Maps a file that is no link and not empty.  Errors: E_IO, E_FORMAT for an empty one. */
TUTTI_NODISCARD tutti_status mapped_open(const char *path, mapped *ret, tutti_error *err);
void mapped_close(const mapped *m);

/* Copies what lies `at`, aligned or not; false when that is not inside. */
bool mapped_fetch(const mapped *m, uint64_t at, void *to, size_t size);

/* The sentence for ELF headers that lead out of the file; its result is E_FORMAT. */
TUTTI_NODISCARD tutti_status mapped_torn(const mapped *m, tutti_error *err);

#endif
