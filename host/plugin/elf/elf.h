/* elf.h - a look at a shared object without loading it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_ELF_ELF_H
#define HOST_PLUGIN_ELF_ELF_H

#include "tutti/base.h"

#include <stdbool.h>
#include <stddef.h>

/* The bytes of a file must be a shared object for this machine, with neither an executable stack nor
 * relocations in its code, that exports all of `symbols` (NULL-terminated): of a plugin with its `entry` and
 * nothing else; of a foreign library, whose `entry` is NULL, among whatever it exports.  `path` stands in messages.
 * Errors: E_FORMAT says what was expected; E_TRUST for what could be dangerous. */
TUTTI_NODISCARD tutti_status elf_check_bytes(const char *path, const void *data, size_t size,
                                             const char *entry, const char *const *symbols,
                                             tutti_error *err);
/* The same of a library that another one needs, which may export what it likes. */
TUTTI_NODISCARD tutti_status elf_check_needed(const char *path, const void *data, size_t size,
                                              tutti_error *err);
/* Whether it is a shared object for this machine; the system's loader passes over others. */
bool elf_fits(const void *data, size_t size);

/* What a shared object tells the system's loader; the strings are the object's own bytes. */
enum { ELF_MAX_NEEDED = 64 };
typedef struct elf_dynamic {
    const char *needed[ELF_MAX_NEEDED];
    size_t nneeded;
    const char *rpath;   /* or NULL */
    const char *runpath; /* or NULL */
    const char *filter;  /* a library that would answer in its place, or NULL */
} elf_dynamic;
/* Of bytes that elf_check_bytes or elf_check_needed has found good.  Error: E_FORMAT. */
TUTTI_NODISCARD tutti_status elf_dynamic_read(const char *path, const void *data, size_t size,
                                              elf_dynamic *ret, tutti_error *err);

#endif
