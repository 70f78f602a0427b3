/* plugin.c - adagrad: gradients over the root of all their squares. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "adagrad_range.h"

#include "../elementwise.h"

ELEMENTWISE_UPDATE(adagrad)

static tutti_status adagrad_open(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    static const char *const slots[] = {"sum"};
    const elementwise_open_options options = {
        .name = "adagrad",
        .kernel = "adagrad_step",
        .slots = slots,
        .nslots = 1,

        .update = adagrad_update,
        .settings = {tutti_param_f64(params, "lr_decay"),
                     tutti_param_f64(params, "weight_decay"),
                     tutti_param_f64(params, "initial_accumulator_value"),
                     tutti_param_f64(params, "eps")}};
    return elementwise_open(host, params, &options, ret_self, err);
}

static const tutti_calls adagrad_calls = {.struct_size = (uint32_t)sizeof adagrad_calls,
                                          .open = adagrad_open,
                                          .close = elementwise_close,
                                          .query = elementwise_query};
static const tutti_object adagrad_object =
    TUTTI_OBJECT_INIT("adagrad", TUTTI_KIND_OPTIMIZER, &adagrad_calls);
static const tutti_object *const objects[] = {&adagrad_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.adagrad", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
