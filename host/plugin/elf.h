/* elf.h - a look at a shared object without loading it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_ELF_H
#define HOST_PLUGIN_ELF_H

#include "tutti/base.h"

/* The file must be a shared object for this machine, with neither an executable stack nor
 * relocations in its code, that exports all of `symbols` (NULL-terminated) and nothing else.
 * Errors: E_FORMAT says what was expected; E_TRUST for what could be dangerous; E_IO; E_NOMEM. */
TUTTI_NODISCARD tutti_status elf_check(const char *path, const char *const *symbols,
                                       tutti_error *err);

/* The same for a file in memory; `path` stands in messages. */
TUTTI_NODISCARD tutti_status elf_check_bytes(const char *path, const void *data, size_t size,
                                             const char *const *symbols, tutti_error *err);

#endif
