/* plugin.c - lamb: Adam's step, scaled to the norm of each weight. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* gradient_norm */
#include "lamb_range.h"

#include "../trust.h"

TRUST_UPDATE(lamb)

static tutti_status lamb_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    static const char *const slots[] = {"exp_avg", "exp_avg_sq"};
    const double max_grad_norm = tutti_param_f64(params, "max_grad_norm");
    const int32_t flags =
        (tutti_param_i64(params, "bias_correction") ? LAMB_BIAS_CORRECTION : 0) |
        (tutti_param_i64(params, "grad_averaging") ? LAMB_GRAD_AVERAGING : 0) |
        (tutti_param_i64(params, "decoupled_decay") ? LAMB_DECOUPLED_DECAY : 0) |
        (max_grad_norm > 0.0 ? TRUST_NORM : 0);
    const trust_open_options options = {
        .name = "lamb",
        .look = "lamb_look",
        .move = "lamb_move",
        .slots = slots,
        .nslots = 2,
        .own_flags = flags,
        .update = lamb_update,
        .settings = {optimizer_beta(params, 0, 0.9), optimizer_beta(params, 1, 0.999),
                     tutti_param_f64(params, "eps"), tutti_param_f64(params, "weight_decay"),
                     max_grad_norm}};
    return trust_open(host, params, &options, ret_self, err);
}

static const tutti_calls lamb_calls = {.struct_size = (uint32_t)sizeof lamb_calls,
                                       .open = lamb_open,
                                       .close = trust_close,
                                       .query = trust_query};
static const tutti_object lamb_object =
    TUTTI_OBJECT_INIT("lamb", TUTTI_KIND_OPTIMIZER, &lamb_calls);
static const tutti_object *const objects[] = {&lamb_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.lamb", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
