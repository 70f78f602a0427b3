/* plugin.c - decoupled_adamw: Adam, decay on its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../adam.h"

static tutti_status decoupled_adamw_open(const tutti_host *host, const tutti_params *params,
                                         void **ret_self, tutti_error *err)
{
    adam *o = NULL;
    const tutti_status s =
        adam_open("decoupled_adamw", host, params, ADAM_DECAY_BY_SCHEDULE, &o, err);
    if (s != TUTTI_OK)
        return s;
    optimizer_warn_decay(host, "decoupled_adamw", tutti_param_f64(params, "weight_decay"));
    *ret_self = o;
    return TUTTI_OK;
}

static const tutti_calls decoupled_adamw_calls = {.struct_size =
                                                      (uint32_t)sizeof decoupled_adamw_calls,
                                                  .open = decoupled_adamw_open,
                                                  .close = adam_close,
                                                  .query = adam_query};
static const tutti_object decoupled_adamw_object =
    TUTTI_OBJECT_INIT("decoupled_adamw", TUTTI_KIND_OPTIMIZER, &decoupled_adamw_calls);
static const tutti_object *const objects[] = {&decoupled_adamw_object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.decoupled_adamw", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
