/* callback.h - what the callbacks share: asking the host for its services. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CALLBACK_H
#define CALLBACK_H

#include "tutti/tutti.h"

/* The host's table, or NULL with the error told. */
static inline const void *callback_service(const tutti_host *host, const char *who,
                                           const char *id, tutti_error *err)
{
    const void *table = host->query(host->ctx, id);
    if (!table)
        (void)tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: this host has no %s", who, id);
    return table;
}

/* The plugin of one callback: `table` is its static const tutti_calls. */
#define CALLBACK_PLUGIN(name_, calls_)                                                         \
    static const tutti_object callback_object =                                                \
        TUTTI_OBJECT_INIT(name_, TUTTI_KIND_CALLBACK, &(calls_));                              \
    static const tutti_object *const callback_objects[] = {&callback_object, NULL};            \
    static const tutti_plugin callback_plugin =                                                \
        TUTTI_PLUGIN_INIT("org.tutti." name_, "1.0.0", callback_objects);                      \
    const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)                                     \
    {                                                                                          \
        (void)host_abi;                                                                        \
        return &callback_plugin;                                                               \
    }

#endif
