/* plugin.c - sgd: gradient descent with momentum, decay in the gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../momentum.h"

static tutti_status sgd_open(const tutti_host *host, const tutti_params *params,
                             void **ret_self, tutti_error *err)
{
    momentum *o = NULL;
    const tutti_status s = momentum_open("sgd", host, params, 0, &o, err);
    if (s != TUTTI_OK)
        return s;
    *ret_self = o;
    return TUTTI_OK;
}

static const tutti_calls sgd_calls = {.struct_size = (uint32_t)sizeof sgd_calls,
                                      .open = sgd_open,
                                      .close = momentum_close,
                                      .query = momentum_query};
static const tutti_object sgd_object =
    TUTTI_OBJECT_INIT("sgd", TUTTI_KIND_OPTIMIZER, &sgd_calls);
static const tutti_object *const objects[] = {&sgd_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.sgd", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
