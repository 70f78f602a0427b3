/* config.h - the operator's files that say what may be loaded: where they are, and who may write them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_TRUST_CONFIG_H
#define HOST_PLUGIN_TRUST_CONFIG_H

#include "plugin/trust/bytes.h"

/* The folders with policy.json and trusted.d: those of TUTTI_CONFIG_PATH, else /etc/tutti and the user's. */
enum { CONFIG_MAX = 16 };
typedef struct config_folders {
    char *paths[CONFIG_MAX];
    size_t count;
    const char *ignored; /* a variable that a set-uid program does not listen to, or NULL */
} config_folders;
TUTTI_NODISCARD tutti_status config_find(config_folders *ret, tutti_error *err);
void config_fini(config_folders *c);

/* A file that nobody but root and we may write, nor the folders above it; `what` it is stands in messages.  The
 * caller frees *ret.  Errors: E_NOTFOUND; E_TRUST; E_RANGE; E_IO; E_NOMEM. */
TUTTI_NODISCARD tutti_status config_read(const char *what, const char *path, size_t limit,
                                         bytes *ret, tutti_error *err);

#endif
