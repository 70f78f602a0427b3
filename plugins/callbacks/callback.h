/* callback.h - what the callbacks share: asking the host for its services. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CALLBACK_H
#define CALLBACK_H

#include "../common/checked_plugin.h"

#include <stdlib.h>

/* The host's table, or NULL with the error told. */
static inline const void *callback_service(const tutti_host *host, const char *who,
                                           const char *id, tutti_error *err)
{
    const void *table = host->query(host->ctx, id);
    if (!table)
        (void)tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: this host has no %s", who, id);
    return table;
}

/* For callbacks whose instance is one block of memory. */
static inline tutti_status callback_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* The plugin of one callback; what follows its name, or its check of settings, are members of tutti_calls. */
#define CALLBACK_PLUGIN(name_, ...)                                                            \
    TUTTI_PLUGIN_OF_ONE("org.tutti." name_, "1.0.0", name_, TUTTI_KIND_CALLBACK, __VA_ARGS__)
#define CALLBACK_PLUGIN_CHECKED(name_, check_, ...)                                            \
    CHECKED_PLUGIN(name_, TUTTI_KIND_CALLBACK, check_, __VA_ARGS__)

#endif
