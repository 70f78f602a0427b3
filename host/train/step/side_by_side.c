/* side_by_side.c - a rank's slots of a batch in lock step: their passes pause together for sums over all slots. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step/side_by_side.h"

#include "graph/runtime/device_memory.h"
#include "train/step/microbatch.h"
#include "train/step/plan_step.h"
#include "train/step/slot_runs.h"
#include "train/step/trainer_events.h"
#include "train/step/trainer_state.h"

#include <stdlib.h>

tutti_status side_by_side_check(trainer *t, int64_t slots, const plan *p, tutti_error *err)
{
    const slot_sums *sums = &t->distributed.sums;
    tutti_status s = TUTTI_OK;
    if (!sums->on || plan_sums(p, NULL, 0) == 0 || gradients_fit(&t->distributed.gradients))
        return TUTTI_OK; /* or it is known */
    if (plan_has_penalty(p))
        s = tutti_fail(err, TUTTI_E_UNSUPPORTED,
                       "distributed.batch_norm is \"world\", which has no gradients of "
                       "gradients, as gradient_penalty wants them; want \"slot\"");
    else if (sums_most_slots(sums, slots) > 1 &&
             engine_hears(t->run.engine, TUTTI_EVENT_BEFORE_FORWARD))
        s = tutti_fail(
            err, TUTTI_E_UNSUPPORTED,
            "distributed.batch_norm is \"world\", a plugin hears before_forward, and "
            "a rank has several microbatches, which run side by side; want %lld "
            "ranks, not %d",
            (long long)slots, world_size(sums->world));
    return distributed_agree(&t->distributed, s, err); /* loggers hear on one rank */
}

bool side_by_side_wanted(const trainer *t)
{
    const slot_sums *sums = &t->distributed.sums;
    return sums->count > 0 && sums->mine.count > 1;
}

void side_by_side_fini(step_plans *plans)
{
    slot_runs_free(plans->slots);
    plans->slots = NULL;
}

static tutti_status begin_slot(trainer *t, slot_run *one, slot *saved_targets, int64_t size,
                               tutti_error *err)
{
    plan_request request;
    tutti_status s = distributed_begin_slot(&t->distributed, err);
    if (s || (s = trainer_begin_microbatch(t, saved_targets, one->slot, size, err)) ||
        (s = trainer_request(t, PLAN_TRAIN, &t->tensors.micro, &request, err)) ||
        (s = net_plan(t->run.net, &request, &one->plan, err)) ||
        (s = slot_run_fit(t, one, err)))
        return s;
    one->share = (double)t->tensors.micro.samples / (double)t->tensors.whole.samples;
    plan_watch_sums(one->plan, NULL, NULL);
    return TUTTI_OK;
}

/* ---- passes ---- */

/* Behind this copies that plugins have are those of other slots. */
static tutti_status enter(trainer *t, slot_run *one, int64_t size, tutti_error *err)
{
    const tutti_status s = mirrors_flush(&t->mirrors, false, err);
    mirrors_invalidate(&t->mirrors,
                       1u << MIRROR_RESULTS | 1u << MIRROR_BUFFERS | 1u << MIRROR_GRADIENTS);
    const tutti_status entered = slot_run_enter(t, one, size, s ? NULL : err);
    return s ? s : entered;
}

static tutti_status leave(trainer *t, slot_run *one, tutti_status status, tutti_error *err)
{
    const tutti_status s = slot_run_leave(t, one, status ? NULL : err);
    return status ? status : s;
}

static tutti_status run_part_of(trainer *t, slot_run *one, int segment, int64_t size,
                                tutti_error *err)
{
    program_pause pause = {NULL, 0};
    tutti_status s = slot_run_enter(t, one, size, err);
    if (!s)
        s = plan_run_part(one->plan, segment, &one->at, &t->run.step, &pause, err);
    one->numbers = pause.numbers;
    one->took = (uint32_t)pause.count;
    return leave(t, one, s, err);
}

/* The sum of all slots' numbers where they pause; *ret_over: their pass is over. */
static tutti_status join(slot_runs *l, slot_sums *sums, bool *ret_over, tutti_error *err)
{
    const slot_run *first = l->runs;
    *ret_over = !first->numbers;
    for (int64_t k = 0; k < l->count; k++) {
        const slot_run *one = &l->runs[k];
        if (!one->numbers != !first->numbers || one->took != first->took)
            return tutti_fail(err, TUTTI_E_STATE,
                              "microbatches %lld and %lld of a batch make other sums of "
                              "its statistics",
                              (long long)first->slot, (long long)one->slot);
    }
    if (*ret_over)
        return TUTTI_OK;
    tutti_status s = slot_runs_get(l, first->took, err);
    if (!s)
        s = sums_add(sums, l->numbers, first->took, err);
    return s ? s : slot_runs_put(l, first->took, err);
}

static tutti_status run_pass(trainer *t, int segment, int64_t size, tutti_error *err)
{
    slot_runs *l = t->plans.slots;
    tutti_status s = TUTTI_OK;
    for (int64_t k = 0; k < l->count; k++)
        l->runs[k].at = 0;
    for (bool over = false; !s && !over;) {
        for (int64_t k = 0; k < l->count && !s; k++)
            s = run_part_of(t, &l->runs[k], segment, size, err);
        if (!s)
            s = join(l, &t->distributed.sums, &over, err);
    }
    return s;
}

/* What hears of the forward pass changes targets, outputs or loss of this slot alone. */
static tutti_status run_loss_plan(trainer *t, slot_run *one, tutti_error *err)
{
    plan_request request;
    tensors_publish(&t->tensors, one->plan);
    tutti_status s = trainer_event(t, TUTTI_EVENT_AFTER_FORWARD, err);
    if (s || (s = trainer_event(t, TUTTI_EVENT_BEFORE_LOSS, err)) ||
        (s = trainer_request(t, PLAN_TRAIN, &t->tensors.micro, &request, err)) ||
        (s = net_plan(t->run.net, &request, &t->plans.loss, err)) ||
        (s = trainer_bind_targets(t, t->plans.loss, &t->tensors.micro, err)) ||
        (s = trainer_aim_scale(t, t->plans.loss, one->share, err)) ||
        (s = trainer_run(t, t->plans.loss, SEGMENT_LOSS, t->plans.loss_scale, err)))
        return s;
    one->loss_plan = t->plans.loss;
    tensors_publish(&t->tensors, one->loss_plan);
    if ((s = trainer_event(t, TUTTI_EVENT_AFTER_LOSS, err)) ||
        (s = trainer_event(t, TUTTI_EVENT_BEFORE_BACKWARD, err)))
        return s;
    s = device_copy(context_device(&t->run), &one->value, plan_loss(one->loss_plan).data,
                    sizeof one->value, TUTTI_COPY_FROM_DEVICE, err);
    return s || context_is_remote(&t->run) ? s : guard_plan(&t->guard, one->loss_plan, err);
}

static tutti_status run_loss(trainer *t, slot_run *one, int64_t size, tutti_error *err)
{
    tutti_status s = enter(t, one, size, err);
    if (!s)
        s = run_loss_plan(t, one, err);
    one->loss = one->share * (double)one->value;
    return leave(t, one, s, err);
}

/* Where the net has gradients and loss: those of this slot. */
static tutti_status put_back(trainer *t, const slot_run *one, tutti_error *err)
{
    const tutti_device *d = context_device(&t->run);
    float *weights, *gradients;
    int64_t n;
    net_arena(t->run.net, &weights, &gradients, &n);
    const tutti_status s =
        one->memory.gradients
            ? device_copy(d, gradients, one->memory.gradients, (uint64_t)n * sizeof *gradients,
                          TUTTI_COPY_ON_DEVICE, err)
            : TUTTI_OK;
    return s ? s
             : device_copy(d, plan_loss(one->loss_plan).data, &one->value, sizeof one->value,
                           TUTTI_COPY_TO_DEVICE, err);
}

/* Gradients, buffers, loss and metrics of one slot, in the order of slots. */
static tutti_status end_slot(trainer *t, slot_run *one, slot *saved_targets, int64_t size,
                             tutti_error *err)
{
    tutti_status s = distributed_begin_slot(&t->distributed, err);
    if (s || (s = trainer_begin_microbatch(t, saved_targets, one->slot, size, err)))
        return s;
    s = enter(t, one, size, err);
    if (!s)
        s = put_back(t, one, err);
    t->plans.loss = one->loss_plan;
    tensors_publish(&t->tensors, one->loss_plan);
    if (t->plans.counts)
        t->plans.flops += plan_flops(one->loss_plan);
    if (!s)
        s = trainer_event(t, TUTTI_EVENT_AFTER_BACKWARD, err);
    if (!s && t->train.metrics.count)
        s = trainer_update_metrics(t, saved_targets, err);
    if (!s)
        s = distributed_end_slot(&t->distributed, one->slot, one->share, one->loss, err);
    t->tensors.phase = PHASE_BATCH;
    return leave(t, one, s, err);
}

static tutti_status begin(trainer *t, slot *saved_targets, int64_t size, tutti_error *err)
{
    const slot_list mine = t->distributed.sums.mine;
    if (!t->plans.slots && !(t->plans.slots = calloc(1, sizeof *t->plans.slots)))
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for microbatches side by side");
    slot_runs *l = t->plans.slots;
    l->device = context_device(&t->run);
    tutti_status s = slot_runs_reserve(l, mine.count, err);
    for (int64_t k = 0; k < l->count && !s; k++) {
        l->runs[k].slot = mine.first + k * mine.step;
        s = begin_slot(t, &l->runs[k], saved_targets, size, err);
    }
    if (!s)
        s = mirrors_flush(&t->mirrors, false, err);
    mirrors_invalidate(&t->mirrors, MIRROR_ALL);
    return s;
}

tutti_status side_by_side_run(trainer *t, slot *saved_targets, int64_t size, tutti_error *err)
{
    tutti_status s = begin(t, saved_targets, size, err);
    slot_runs *l = t->plans.slots;
    if (!s)
        s = run_pass(t, SEGMENT_FORWARD, size, err);
    for (int64_t k = 0; !s && k < l->count; k++)
        s = run_loss(t, &l->runs[k], size, err);
    if (!s)
        s = run_pass(t, SEGMENT_BACKWARD, size, err);
    for (int64_t k = 0; !s && k < l->count; k++)
        s = end_slot(t, &l->runs[k], saved_targets, size, err);
    t->tensors.phase = PHASE_BATCH;
    return s;
}
