/* plugin.c - rmsprop: gradients over their root mean square. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmsprop_range.h"

#include "../elementwise.h"

ELEMENTWISE_UPDATE(rmsprop)

static tutti_status rmsprop_open(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    static const char *const slots[] = {"square_avg", "momentum_buffer", "grad_avg"};
    const int32_t variant = (tutti_param_f64(params, "momentum") != 0.0 ? 1 : 0) |
                            (tutti_param_i64(params, "centered") ? 2 : 0);
    const elementwise_open_options options = {
        .name = "rmsprop",
        .kernel = "rmsprop_step",
        .slots = slots,
        .nslots = variant & 2 ? 3
                  : variant   ? 2
                              : 1,
        .variant = variant,
        .update = rmsprop_update,
        .settings = {tutti_param_f64(params, "alpha"), tutti_param_f64(params, "eps"),
                     tutti_param_f64(params, "weight_decay"),
                     tutti_param_f64(params, "momentum")}};
    return elementwise_open(host, params, &options, ret_self, err);
}

static const tutti_calls rmsprop_calls = {.struct_size = (uint32_t)sizeof rmsprop_calls,
                                          .open = rmsprop_open,
                                          .close = elementwise_close,
                                          .query = elementwise_query};
static const tutti_object rmsprop_object =
    TUTTI_OBJECT_INIT("rmsprop", TUTTI_KIND_OPTIMIZER, &rmsprop_calls);
static const tutti_object *const objects[] = {&rmsprop_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.rmsprop", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
