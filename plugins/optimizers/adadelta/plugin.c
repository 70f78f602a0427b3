/* plugin.c - adadelta: steps as large as those before. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "adadelta_range.h"

#include "../elementwise.h"

ELEMENTWISE_UPDATE(adadelta)

static tutti_status adadelta_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    static const char *const slots[] = {"square_avg", "acc_delta"};
    const elementwise_open_options options = {
        .name = "adadelta",
        .kernel = "adadelta_step",
        .slots = slots,
        .nslots = 2,

        .update = adadelta_update,
        .settings = {tutti_param_f64(params, "rho"), tutti_param_f64(params, "eps"),
                     tutti_param_f64(params, "weight_decay")}};
    return elementwise_open(host, params, &options, ret_self, err);
}

static const tutti_calls adadelta_calls = {.struct_size = (uint32_t)sizeof adadelta_calls,
                                           .open = adadelta_open,
                                           .close = elementwise_close,
                                           .query = elementwise_query};
static const tutti_object adadelta_object =
    TUTTI_OBJECT_INIT("adadelta", TUTTI_KIND_OPTIMIZER, &adadelta_calls);
static const tutti_object *const objects[] = {&adadelta_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.adadelta", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
