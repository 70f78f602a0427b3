/* plugin.c - lion: the sign of a momentum. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lion_range.h"

#include "../elementwise.h"

ELEMENTWISE_UPDATE(lion)

static tutti_status lion_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    static const char *const slots[] = {"exp_avg"};
    const elementwise_open_options options = {
        .name = "lion",
        .kernel = "lion_step",
        .slots = slots,
        .nslots = 1,

        .update = lion_update,
        .settings = {optimizer_beta(params, 0, 0.9), optimizer_beta(params, 1, 0.99),
                     tutti_param_f64(params, "weight_decay")}};
    return elementwise_open(host, params, &options, ret_self, err);
}

static const tutti_calls lion_calls = {.struct_size = (uint32_t)sizeof lion_calls,
                                       .open = lion_open,
                                       .close = elementwise_close,
                                       .query = elementwise_query};
static const tutti_object lion_object =
    TUTTI_OBJECT_INIT("lion", TUTTI_KIND_OPTIMIZER, &lion_calls);
static const tutti_object *const objects[] = {&lion_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.lion", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
