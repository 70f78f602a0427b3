/* train_service.c - tutti.train/1: losses, forward passes and data for plugins. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/device_memory.h"
#include "train/step/plan_step.h"
#include "train/step/step_services.h"
#include "train/step/trainer_state.h"

/* Copies a plugin's tensor to where a plan reads it. */
static tutti_status take_column(trainer *t, tutti_tensor to, const tutti_tensor *from,
                                tutti_error *err)
{
    if (!to.data)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a column of a forward pass");
    return device_copy(context_device(&t->run), to.data, from->data, tutti_nbytes(&from->desc),
                       from->device == to.device ? TUTTI_COPY_ON_DEVICE : TUTTI_COPY_TO_DEVICE,
                       err);
}

/* Weights of all ranks, which come together. */
static tutti_status gather(trainer *t, tutti_error *err)
{
    if (distributed_is_alone(&t->distributed))
        return tutti_fail(err, TUTTI_E_STATE,
                          "weights are divided among the processes, and the others may not run "
                          "the model forward now; want a logger that asks for " TUTTI_TRAIN_V1
                          " when it opens, a handler with \"rank\" in the run file, or "
                          "\"sharding\": \"none\" of \"distributed\"");
    return weights_gather_all(&t->distributed.gradients.weights, err);
}

static tutti_status train_losses_there(void *ctx, const tutti_tensor *inputs, uint32_t ninputs,
                                       const tutti_tensor *targets, uint32_t ntargets,
                                       tutti_tensor *ret_losses, tutti_error *err)
{
    trainer *t = ctx;
    if (t->tensors.phase != PHASE_BATCH)
        return tutti_fail(err, TUTTI_E_STATE,
                          "sample losses can be had between after_dataloader and "
                          "before_train_batch only");
    plan_request request = {.kind = PLAN_LOSSES, .ninputs = ninputs, .ntargets = ntargets};
    if (ninputs > TUTTI_MAX_COLUMNS || ntargets > TUTTI_MAX_COLUMNS)
        return tutti_fail(err, TUTTI_E_RANGE, "at most %d columns", TUTTI_MAX_COLUMNS);
    for (uint32_t k = 0; k < ninputs; k++)
        request.inputs[k] = inputs[k].desc;
    for (uint32_t k = 0; k < ntargets; k++)
        request.targets[k] = targets[k].desc;
    plan *p;
    tutti_status s = gather(t, err);
    if (s)
        return s;
    /* Dropout draws as in the batch's first microbatch, whichever this process has computed last. */
    t->run.step.microbatch = 0;
    t->run.step.first_sample = 0;
    s = net_plan(t->run.net, &request, &p, err);
    if (s)
        return s;
    for (uint32_t k = 0; k < ninputs && !s; k++) {
        plan_set_input(p, k, NULL);
        s = take_column(t, plan_input(p, k), &inputs[k], err);
    }
    for (uint32_t k = 0; k < ntargets && !s; k++) {
        plan_set_target(p, k, NULL);
        s = take_column(t, plan_target(p, k), &targets[k], err);
    }
    if (s || (s = trainer_run(t, p, SEGMENT_FORWARD, 1.0f, err)) ||
        (s = trainer_run(t, p, SEGMENT_LOSS, 1.0f, err)))
        return s;
    *ret_losses = plan_loss(p);
    return TUTTI_OK;
}

static tutti_status train_sample_losses(void *ctx, const tutti_tensor *inputs, uint32_t ninputs,
                                        const tutti_tensor *targets, uint32_t ntargets,
                                        float *losses, tutti_error *err)
{
    const trainer *t = ctx;
    tutti_tensor there;
    const tutti_status s =
        train_losses_there(ctx, inputs, ninputs, targets, ntargets, &there, err);
    return s ? s
             : device_copy(context_device(&t->run), losses, there.data,
                           tutti_nbytes(&there.desc), TUTTI_COPY_FROM_DEVICE, err);
}

static tutti_status train_mix_loss(void *ctx, const tutti_tensor *target, double weight,
                                   tutti_error *err)
{
    trainer *t = ctx;
    if (t->tensors.phase != PHASE_MICROBATCH || !t->plans.loss)
        return tutti_fail(err, TUTTI_E_STATE,
                          "a loss can be mixed between after_loss and before_backward only");
    tutti_status s = mirrors_flush(&t->mirrors, false, err);
    mirrors_invalidate(&t->mirrors, 1u << MIRROR_RESULTS);
    if (!s)
        s = plan_blend_loss(t->plans.loss, target, weight, &t->run.step, t->plans.loss_scale,
                            err);
    if (s == TUTTI_OK)
        tensors_publish(&t->tensors, t->plans.loss);
    return s;
}

static tutti_status forward_plan(trainer *t, const tutti_tensor *inputs, uint32_t ninputs,
                                 uint32_t noutputs, plan **ret_plan, tutti_error *err)
{
    plan_request request = {.kind = PLAN_EVAL, .ninputs = ninputs};
    uint32_t want = 0;
    while (t->run.model_table && t->run.model_table->inputs[want])
        want++;
    if (t->tensors.phase != PHASE_IDLE || !t->run.log.ready)
        return tutti_fail(err, TUTTI_E_STATE,
                          "a forward pass can be had where no batch or evaluation is under way "
                          "only, as on batch_checkpoint and epoch_end");
    if (ninputs != want || noutputs > t->run.model_table->noutputs || noutputs > 16)
        return tutti_fail(err, TUTTI_E_ARG,
                          "the model takes %u inputs and gives %u outputs, not %u and %u", want,
                          t->run.model_table->noutputs, ninputs, noutputs);
    for (uint32_t k = 0; k < ninputs; k++)
        request.inputs[k] = inputs[k].desc;
    return net_plan(t->run.net, &request, ret_plan, err);
}

static tutti_status train_forward(void *ctx, const tutti_tensor *inputs, uint32_t ninputs,
                                  tutti_tensor *ret_outputs, uint32_t noutputs,
                                  tutti_error *err)
{
    trainer *t = ctx;
    plan *p;
    tutti_status s = forward_plan(t, inputs, ninputs, noutputs, &p, err);
    if (!s)
        s = gather(t, err);
    if (s)
        return s;
    for (uint32_t k = 0; k < ninputs; k++) {
        plan_set_input(p, k, NULL);
        if ((s = take_column(t, plan_input(p, k), &inputs[k], err)))
            return s;
    }
    if ((s = trainer_run(t, p, SEGMENT_FORWARD, 1.0f, err)))
        return s;
    for (uint32_t k = 0; k < noutputs && !s; k++) {
        ret_outputs[k] = plan_output(p, k);
        s = mirror_open(&t->mirrors, &t->tensors.forward[k], MIRROR_RESULTS, &ret_outputs[k],
                        err);
    }
    return s;
}

static const void *train_dataset(void *ctx, const char *interface_id, void **ret_self)
{
    const trainer *t = ctx;
    const void *table =
        t->train.dataset ? instance_query(t->train.dataset, interface_id) : NULL;
    if (table)
        *ret_self = instance_self(t->train.dataset);
    return table;
}

void train_service_init(tutti_train_v1 *s, trainer *t)
{
    *s = (tutti_train_v1){.struct_size = sizeof *s,
                          .ctx = t,
                          .sample_losses = train_sample_losses,
                          .mix_loss = train_mix_loss,
                          .forward = train_forward,
                          .dataset = train_dataset,
                          .sample_losses_there = train_losses_there};
}
