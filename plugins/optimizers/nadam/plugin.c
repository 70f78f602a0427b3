/* plugin.c - nadam: Adam with Nesterov's momentum. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nadam_range.h"

#include "../elementwise.h"

ELEMENTWISE_UPDATE(nadam)

static tutti_status nadam_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    static const char *const slots[] = {"exp_avg", "exp_avg_sq"};
    const int32_t variant = tutti_param_i64(params, "decoupled_weight_decay") != 0;
    const elementwise_open_options options = {
        .name = "nadam",
        .kernel = "nadam_step",
        .slots = slots,
        .nslots = 2,
        .variant = variant,
        .update = nadam_update,
        .settings = {optimizer_beta(params, 0, 0.9), optimizer_beta(params, 1, 0.999),
                     tutti_param_f64(params, "eps"), tutti_param_f64(params, "weight_decay"),
                     tutti_param_f64(params, "momentum_decay")}};
    return elementwise_open(host, params, &options, ret_self, err);
}

static const tutti_calls nadam_calls = {.struct_size = (uint32_t)sizeof nadam_calls,
                                        .open = nadam_open,
                                        .close = elementwise_close,
                                        .query = elementwise_query};
static const tutti_object nadam_object =
    TUTTI_OBJECT_INIT("nadam", TUTTI_KIND_OPTIMIZER, &nadam_calls);
static const tutti_object *const objects[] = {&nadam_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.nadam", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
