/* activations_service.c - tutti.activations/1: the microbatch under way, module by module. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step/step_services.h"
#include "train/step/trainer_state.h"

static tutti_status observe(void *ctx, tutti_activation_fn each, void *each_ctx,
                            tutti_error *err)
{
    trainer *t = ctx;
    if (t->tensors.phase != PHASE_MICROBATCH || !t->plans.forward)
        return tutti_fail(err, TUTTI_E_STATE,
                          "activations can be had between after_forward and before_backward "
                          "only");
    const weight_shards *w = &t->distributed.gradients.weights;
    if (w->on && !w->keeps) /* those of others are not there once more */
        return tutti_fail(err, TUTTI_E_STATE,
                          "weights are divided among the processes since nobody asked for "
                          "them; want a plugin that asks for " TUTTI_ACTIVATIONS_V1
                          " when it opens, or \"sharding\": \"gradients\" of \"distributed\"");
    const tutti_status s = mirrors_flush(&t->mirrors, false, err);
    return s ? s : plan_activations(t->plans.forward, &t->run.step, each, each_ctx, err);
}

void activations_service_init(tutti_activations_v1 *s, trainer *t)
{
    *s = (tutti_activations_v1){.struct_size = sizeof *s, .ctx = t, .observe = observe};
}
