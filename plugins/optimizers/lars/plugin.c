/* plugin.c - lars: gradient descent with momentum, scaled to the norm of each weight. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lars_range.h"

#include "../trust.h"

TRUST_UPDATE(lars)

static tutti_status lars_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    static const char *const slots[] = {"momentum_buffer"};
    const double momentum = tutti_param_f64(params, "momentum");
    const double dampening = tutti_param_f64(params, "dampening");
    const int nesterov = tutti_param_i64(params, "nesterov") != 0;
    if (nesterov && (momentum <= 0.0 || dampening != 0.0))
        return tutti_fail(err, TUTTI_E_ARG,
                          "lars: nesterov needs a momentum above 0 and a dampening of 0");
    const trust_open_options options = {
        .name = "lars",
        .look = "lars_look",
        .move = "lars_move",
        .slots = slots,
        .nslots = momentum != 0.0,
        .own_flags = nesterov ? LARS_NESTEROV : 0,
        .kind = momentum != 0.0 ? LARS_WITH_MOMENTUM : LARS_PLAIN,
        .update = lars_update,
        .settings = {momentum, dampening, tutti_param_f64(params, "weight_decay"),
                     tutti_param_f64(params, "trust_coeff"), tutti_param_f64(params, "eps")}};
    return trust_open(host, params, &options, ret_self, err);
}

static const tutti_calls lars_calls = {.struct_size = (uint32_t)sizeof lars_calls,
                                       .open = lars_open,
                                       .close = trust_close,
                                       .query = trust_query};
static const tutti_object lars_object =
    TUTTI_OBJECT_INIT("lars", TUTTI_KIND_OPTIMIZER, &lars_calls);
static const tutti_object *const objects[] = {&lars_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.lars", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
