/* plugins.h - the plugins that an embedding program finds, and the program's ear for what is told of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_EMBED_PLUGINS_H
#define HOST_EMBED_PLUGINS_H

#include "plugin/registry.h"

/* The program's function for lines that somebody should know, or NULL; as in the public options. */
typedef struct listener {
    void (*report)(void *ctx, int32_t level, const char *text);
    void *ctx;
} listener;

/* `ctx` is a const listener *. */
void listener_report(void *ctx, int level, const char *text);

/* The registry of the folders in `paths` (NULL at the end, or NULL) and of the search path beside this library; `told`
 * outlives it.  The caller ends it with registry_destroy.  [control]  Errors: registry_create's. */
TUTTI_NODISCARD tutti_status plugins_open(const char *const *paths, listener *told,
                                          registry **ret_registry, tutti_error *err);

#endif
