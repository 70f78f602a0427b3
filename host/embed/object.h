/* object.h - an object of a plugin, opened by a JSON text with its name and settings. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_EMBED_OBJECT_H
#define HOST_EMBED_OBJECT_H

#include "plugin/instance.h"

/* Opens what `json` names, {"name": "mlp", "hidden": [64]}, and gives its table of interface `id`; `services` as
 * instance_open's.  The caller ends it with instance_free.  [control]
 * Errors: E_ARG the first thing that is wrong with the text or its settings; E_NOTFOUND no such object;
 * E_UNSUPPORTED it has no such interface; those of loading the plugin. */
TUTTI_NODISCARD tutti_status object_open_json(registry *r, const char *kind, const char *json,
                                              const char *id, service_fn services, void *ctx,
                                              instance **ret_instance, const void **ret_table,
                                              tutti_error *err);

#endif
