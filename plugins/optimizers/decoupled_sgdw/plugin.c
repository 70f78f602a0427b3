/* plugin.c - decoupled_sgdw: gradient descent with momentum, decay on its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../momentum.h"

static tutti_status decoupled_sgdw_open(const tutti_host *host, const tutti_params *params,
                                        void **ret_self, tutti_error *err)
{
    momentum *o = NULL;
    const tutti_status s = momentum_open("decoupled_sgdw", host, params, 1, &o, err);
    if (s != TUTTI_OK)
        return s;
    optimizer_warn_decay(host, "decoupled_sgdw", tutti_param_f64(params, "weight_decay"));
    *ret_self = o;
    return TUTTI_OK;
}

static const tutti_calls decoupled_sgdw_calls = {.struct_size =
                                                     (uint32_t)sizeof decoupled_sgdw_calls,
                                                 .open = decoupled_sgdw_open,
                                                 .close = momentum_close,
                                                 .query = momentum_query};
static const tutti_object decoupled_sgdw_object =
    TUTTI_OBJECT_INIT("decoupled_sgdw", TUTTI_KIND_OPTIMIZER, &decoupled_sgdw_calls);
static const tutti_object *const objects[] = {&decoupled_sgdw_object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.decoupled_sgdw", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
