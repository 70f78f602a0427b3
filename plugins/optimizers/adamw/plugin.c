/* plugin.c - adamw: Adam, decay times the learning rate. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../adam.h"

static tutti_status adamw_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    adam *o = NULL;
    const tutti_status s = adam_open("adamw", host, params, ADAM_DECAY_BY_RATE, &o, err);
    if (s != TUTTI_OK)
        return s;
    *ret_self = o;
    return TUTTI_OK;
}

static const tutti_calls adamw_calls = {.struct_size = (uint32_t)sizeof adamw_calls,
                                        .open = adamw_open,
                                        .close = adam_close,
                                        .query = adam_query};
static const tutti_object adamw_object =
    TUTTI_OBJECT_INIT("adamw", TUTTI_KIND_OPTIMIZER, &adamw_calls);
static const tutti_object *const objects[] = {&adamw_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.adamw", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
