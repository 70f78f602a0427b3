/* plugin.c - adam: Adam, decay in the gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../adam.h"

static tutti_status adam_plugin_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    adam *o = NULL;
    const tutti_status s = adam_open("adam", host, params, ADAM_DECAY_IN_GRADIENT, &o, err);
    if (s != TUTTI_OK)
        return s;
    *ret_self = o;
    return TUTTI_OK;
}

static const tutti_calls adam_calls = {.struct_size = (uint32_t)sizeof adam_calls,
                                       .open = adam_plugin_open,
                                       .close = adam_close,
                                       .query = adam_query};
static const tutti_object adam_object =
    TUTTI_OBJECT_INIT("adam", TUTTI_KIND_OPTIMIZER, &adam_calls);
static const tutti_object *const objects[] = {&adam_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.adam", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
