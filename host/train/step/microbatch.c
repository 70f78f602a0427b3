/* microbatch.c - a microbatch becomes the one under way, and is measured. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step/microbatch.h"

#include "train/step/trainer_state.h"

bool trainer_looks(const trainer *t)
{
    return !context_is_remote(&t->run) || distributed_on(&t->distributed) ||
           (t->run.participants.wrapper && t->run.participants.wrapper_looks);
}

bool trainer_measures_async(const trainer *t)
{
    return t->train.metrics.count && !trainer_looks(t);
}

/* What metrics compare with: the targets before any algorithm. */
static tutti_status keep_targets(trainer *t, slot *saved_targets, tutti_error *err)
{
    if (trainer_measures_async(t))
        return async_targets(&t->async, err);
    for (uint32_t k = 0; t->run.model_table->targets[k] && k < TUTTI_MAX_COLUMNS; k++) {
        const tutti_status s =
            slot_set(&saved_targets[k], context_device(&t->run),
                     &batch_find(&t->tensors.micro, t->run.model_table->targets[k])->now, err);
        if (s)
            return s;
    }
    return TUTTI_OK;
}

tutti_status trainer_update_metrics(trainer *t, const slot *saved_targets, tutti_error *err)
{
    tutti_tensor targets[TUTTI_MAX_COLUMNS], outputs[2];
    uint32_t n = 0;
    for (; t->run.model_table->targets[n] && n < TUTTI_MAX_COLUMNS; n++)
        targets[n] = saved_targets[n].now;
    tutti_metric_input in = {.struct_size = sizeof in,
                             .noutputs = t->tensors.noutputs,
                             .outputs = outputs,
                             .targets = targets,
                             .ntargets = n,
                             .samples = t->tensors.micro.samples};
    tutti_status s = tensors_mirror_outputs(
        &t->tensors, instance_name(t->train.metrics.instances[0]), outputs, err);
    if (s || (s = tensors_read_loss(&t->tensors, &in.loss, err)))
        return s;
    return metric_set_update(&t->train.metrics, &in, err);
}

tutti_status trainer_begin_microbatch(trainer *t, slot *saved_targets, int64_t k, int64_t size,
                                      tutti_error *err)
{
    const int64_t left = t->tensors.whole.samples - k * size;
    batch_slice(&t->tensors.micro, &t->tensors.whole, k * size, left < size ? left : size);
    t->tensors.phase = PHASE_MICROBATCH;
    t->tensors.microbatch = t->run.step.microbatch = (uint32_t)k;
    t->run.step.first_sample = (uint64_t)(k * size);
    return t->train.metrics.count ? keep_targets(t, saved_targets, err) : TUTTI_OK;
}
