/* train_step.c - one training batch: gradient accumulation, microbatch by microbatch, then the update. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step/train_step.h"
#include "train/step/memory_observers.h"

#include "train/step/device_report.h"
#include "train/step/microbatch.h"
#include "train/step/plan_step.h"
#include "train/step/side_by_side.h"
#include "train/step/trainer_events.h"
#include "train/step/trainer_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tutti_status note_loss(trainer *t, double weight, double *loss, tutti_error *err)
{
    double one = 0.0;
    if (context_is_remote(&t->run) && !distributed_on(&t->distributed))
        return async_loss(&t->async, weight, err);
    const tutti_status s = tensors_read_loss(&t->tensors, &one, err);
    *loss += weight * one;
    return s;
}

/* A part of the batch. */
typedef struct part {
    bool first; /* it overwrites the gradients, later ones add */
    bool last;
    double weight; /* in the loss */
} part;

bool trainer_overlaps(const trainer *t)
{
    return distributed_on(&t->distributed) && t->run.file->distributed.sync != SYNC_FORCED &&
           t->run.file->distributed.batch_norm ==
               BATCH_NORM_SLOT && /* it waits for all ranks */
           !engine_hears(t->run.engine, TUTTI_EVENT_AFTER_BACKWARD);
}

/* Gradients of the batch are summed over the ranks while its last backward pass runs. */
static void overlap(trainer *t, plan *p)
{
    if (!trainer_overlaps(t))
        return;
    t->plans.apart = distributed_overlap(&t->distributed, t->tensors.microbatch, p);
    t->plans.watched = p;
}

/* The forward pass and what runs as one with it; *ret_done: the last segment that did. */
static tutti_status run_forward(trainer *t, const part *m, int *ret_done, tutti_error *err)
{
    plan_request request;
    tutti_status s = trainer_request(t, m->first ? PLAN_TRAIN : PLAN_TRAIN_ADD,
                                     &t->tensors.micro, &request, err);
    if (s || (s = net_plan(t->run.net, &request, &t->plans.forward, err)))
        return s;
    t->plans.loss = t->plans.forward;
    weights_watch(&t->distributed.gradients.weights, t->plans.forward);
    sums_watch(&t->distributed.sums, t->plans.forward);
    overlap(t, t->plans.forward);
    *ret_done = trainer_merges(t, SEGMENT_FORWARD, m->last);
    if ((s = trainer_bind_inputs(t, t->plans.forward, &t->tensors.micro, err)) ||
        (*ret_done > SEGMENT_FORWARD &&
         ((s = trainer_bind_targets(t, t->plans.forward, &t->tensors.micro, err)) ||
          (s = trainer_aim_scale(t, t->plans.forward, m->weight, err)))) ||
        (s = trainer_run_merged(t, t->plans.forward, SEGMENT_FORWARD, *ret_done, err)))
        return s;
    tensors_publish(&t->tensors, t->plans.forward);
    return TUTTI_OK;
}

/* The same for the loss, once somebody has heard of the forward pass. */
static tutti_status run_loss(trainer *t, const part *m, int *ret_done, tutti_error *err)
{
    plan_request request;
    tutti_status s = trainer_event(t, TUTTI_EVENT_AFTER_FORWARD, err);
    if (s || (s = trainer_event(t, TUTTI_EVENT_BEFORE_LOSS, err)))
        return s;
    /* Targets may have become soft: that is another plan over the same forward pass, whose inputs are
     * where they were. */
    s = trainer_request(t, m->first ? PLAN_TRAIN : PLAN_TRAIN_ADD, &t->tensors.micro, &request,
                        err);
    if (s || (s = net_plan(t->run.net, &request, &t->plans.loss, err)))
        return s;
    *ret_done = trainer_merges(t, SEGMENT_LOSS, m->last);
    if ((s = trainer_bind_targets(t, t->plans.loss, &t->tensors.micro, err)) ||
        (s = trainer_aim_scale(t, t->plans.loss, m->weight, err)) ||
        (s = trainer_run_merged(t, t->plans.loss, SEGMENT_LOSS, *ret_done, err)))
        return s;
    tensors_publish(&t->tensors, t->plans.loss);
    return TUTTI_OK;
}

/* Events 11 to 16 for one microbatch, where anybody hears them. */
static tutti_status microbatch(trainer *t, const part *m, slot *saved_targets, double *ret_loss,
                               tutti_error *err)
{
    int done = SEGMENT_FORWARD;
    tutti_status s = trainer_event(t, TUTTI_EVENT_BEFORE_FORWARD, err);
    if (s || (s = run_forward(t, m, &done, err)))
        return s;
    if (done == SEGMENT_FORWARD && (s = run_loss(t, m, &done, err)))
        return s;
    if (done == SEGMENT_LOSS && ((s = trainer_event(t, TUTTI_EVENT_AFTER_LOSS, err)) ||
                                 (s = trainer_event(t, TUTTI_EVENT_BEFORE_BACKWARD, err))))
        return s;
    if ((s = note_loss(t, m->weight, ret_loss, err)) ||
        (done == SEGMENT_LOSS && !context_is_remote(&t->run) &&
         (s = guard_plan(&t->guard, t->plans.loss, err))))
        return s;
    /* After-events may have put the first targets back; the backward pass keeps its own. */
    if (done == SEGMENT_LOSS) {
        done = trainer_merges(t, SEGMENT_BACKWARD, m->last);
        if ((s = trainer_run_merged(t, t->plans.loss, SEGMENT_BACKWARD, done, err)))
            return s;
    }
    if (t->plans.counts)
        t->plans.flops += plan_flops(t->plans.loss);
    if (done == SEGMENT_BACKWARD && (s = trainer_event(t, TUTTI_EVENT_AFTER_BACKWARD, err)))
        return s;
    if (!t->train.metrics.count)
        return TUTTI_OK;
    return trainer_measures_async(t) ? async_outputs(&t->async, err)
                                     : trainer_update_metrics(t, saved_targets, err);
}

bool trainer_halve(trainer *t, tutti_error *err)
{
    char text[160];
    if (t->run.file->microbatch_size != RUN_MICROBATCH_AUTO || t->tensors.microbatch_size <= 1)
        return false;
    (void)snprintf(text, sizeof text,
                   "memory is out with %lld samples at a time; microbatch_size is now %lld",
                   (long long)t->tensors.microbatch_size,
                   (long long)(t->tensors.microbatch_size + 1) / 2);
    t->tensors.microbatch_size = (t->tensors.microbatch_size + 1) / 2;
    *err = (tutti_error)TUTTI_ERROR_INIT;
    run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", text);
    return true;
}

/* This rank's slots one after the other. */
static tutti_status run_slots(trainer *t, slot *saved_targets, int64_t size, tutti_error *err)
{
    distributed *d = &t->distributed;
    const int64_t all = t->tensors.whole.samples;
    const slot_list mine = d->gradients.mine;
    tutti_status s = TUTTI_OK;
    for (int64_t n = 0; n < mine.count && !s; n++) {
        const int64_t k = mine.first + n * mine.step;
        double loss = 0.0;
        s = distributed_begin_slot(d, err);
        if (!s)
            s = trainer_begin_microbatch(t, saved_targets, k, size, err);
        const part m = {true, false, (double)t->tensors.micro.samples / (double)all};
        if (!s)
            s = microbatch(t, &m, saved_targets, &loss, err);
        if (t->plans.watched)
            plan_watch_backward(t->plans.watched, NULL, NULL, NULL, 0);
        t->plans.watched = NULL;
        t->plans.apart = false;
        sums_unwatch(&d->sums, t->plans.forward);
        if (d->gradients.weights.on && t->plans.forward)
            plan_reach(t->plans.forward, NULL, NULL);
        if (!s)
            s = distributed_end_slot(d, k, m.weight, loss, err);
        t->tensors.phase = PHASE_BATCH;
    }
    return s;
}

/* The plan of `count` samples of the batch from `first` on, whoever computes them. */
static tutti_status plan_slot(trainer *t, int64_t first, int64_t count, plan **ret_plan,
                              tutti_error *err)
{
    plan_request request;
    batch_slice(&t->tensors.micro, &t->tensors.whole, first, count);
    const tutti_status s = trainer_request(t, PLAN_TRAIN, &t->tensors.micro, &request, err);
    return s ? s : net_plan(t->run.net, &request, ret_plan, err);
}

/* Those of the batch that are this rank's; gradients, metrics and loss are then all ranks'. */
static tutti_status slots(trainer *t, slot *saved_targets, int64_t size, double *ret_loss,
                          tutti_error *err)
{
    distributed *d = &t->distributed;
    const int64_t all = t->tensors.whole.samples, count = (all + size - 1) / size;
    plan *p = NULL, *last = NULL;
    tutti_status s = d->gradients.weights.wanted && all % size
                         ? plan_slot(t, all - all % size, all % size, &last, err)
                         : TUTTI_OK;
    if (!s)
        s = plan_slot(t, 0, size, &p, err);
    if (!s)
        s = side_by_side_check(t, count, p, err);
    d->gradients.weights.overlaps = trainer_overlaps(t);
    if (!s)
        s = distributed_begin(d, count, p, last, err);
    t->updater.sharding.gradients = d->gradients.rules.shard_only && world_size(d->world) > 1;
    t->updater.sharding.weights = d->gradients.weights.on;
    t->guard.sharded = d->gradients.weights.on && !d->gradients.weights.keeps;
    if (!s)
        s = side_by_side_wanted(t) ? side_by_side_run(t, saved_targets, size, err)
                                   : run_slots(t, saved_targets, size, err);
    t->tensors.microbatch = 0;
    write_behind *b = &t->behind;
    if (!s)
        s = write_behind_failed(b, err);
    d->written = write_behind_is_written(b);
    s = distributed_end(d, s, ret_loss, err);
    if (!s && context_is_remote(&t->run)) {
        mirrors_invalidate(&t->mirrors, 1u << MIRROR_GRADIENTS | 1u << MIRROR_BUFFERS);
        s = guard_loss(&t->guard, *ret_loss, (uint64_t)t->run.clock.now.batch, err);
    }
    return s || !d->all_written ? s : write_behind_go_on(b, err);
}

bool trainer_weights_stay(const trainer *t, int64_t all, int64_t size)
{
    const int32_t ranks =
        distributed_on(&t->distributed) ? world_size(t->distributed.world) : 1;
    return size * ranks < all && !t->distributed.gradients.weights.wanted;
}

static tutti_status microbatches(trainer *t, slot *saved_targets, bool first, double *ret_loss,
                                 tutti_error *err)
{
    const int64_t all = t->tensors.whole.samples;
    const int64_t size = t->tensors.microbatch_size < all ? t->tensors.microbatch_size : all;
    net_repeat_training(t->run.net, trainer_weights_stay(t, all, size));
    if (distributed_on(&t->distributed))
        return slots(t, saved_targets, size, ret_loss, err);
    tutti_status s =
        context_is_remote(&t->run)
            ? async_begin(&t->async, (uint32_t)((all + size - 1) / (size ? size : 1)), first,
                          trainer_measures_async(t), err)
            : TUTTI_OK;
    *ret_loss = 0.0;
    if (!trainer_measures_async(t))
        metric_set_reset(&t->train.metrics);
    for (int64_t k = 0; k * size < all && s == TUTTI_OK; k++) {
        s = trainer_begin_microbatch(t, saved_targets, k, size, err);
        const part m = {k == 0, (k + 1) * size >= all,
                        (double)t->tensors.micro.samples / (double)all};
        if (s == TUTTI_OK)
            s = microbatch(t, &m, saved_targets, ret_loss, err);
        t->tensors.phase = PHASE_BATCH;
    }
    t->tensors.microbatch = 0;
    return s;
}

/* What a step's evaluations share. */
typedef struct evaluations {
    trainer *trainer;
    slot saved_targets[TUTTI_MAX_COLUMNS];
    double loss; /* of the first */
    int count;
    bool updated;
} evaluations;

/* Events 10 to 17. */
static tutti_status evaluate(void *ctx, tutti_evaluation *ret, tutti_error *err)
{
    evaluations *e = ctx;
    trainer *t = e->trainer;
    double loss = 0.0;
    t->plans.updated = false;
    tutti_status s = mirrors_flush(&t->mirrors, true, err); /* what a wrapper has written */
    if (s || (s = trainer_event(t, TUTTI_EVENT_BEFORE_TRAIN_BATCH, err)))
        return s;
    do { /* the first microbatch overwrites gradients, so the batch can begin again */
        s = microbatches(t, e->saved_targets, e->count == 0, &loss, err);
        if (s == TUTTI_E_NOMEM)
            memory_step_failed(t, err);
    } while (s == TUTTI_E_NOMEM && trainer_halve(t, err));
    if (s)
        return s;
    if (!t->plans.updated && ((s = scaler_unscale(&t->scaler, err)) ||
                              (s = trainer_event(t, TUTTI_EVENT_AFTER_TRAIN_BATCH, err))))
        return s;
    if (context_is_remote(&t->run) && !distributed_on(&t->distributed)) {
        loss = (double)NAN; /* nobody is to wait for it */
        if (trainer_looks(t) && (s = async_sum(&t->async, &loss, err)))
            return s;
    }
    if (e->count++ == 0)
        e->loss = loss;
    *ret = (tutti_evaluation){(float)loss, !scaler_skips(&t->scaler)};
    return TUTTI_OK;
}

static tutti_status update(void *ctx, tutti_error *err)
{
    evaluations *e = ctx;
    if (e->count == 0 || e->updated)
        return tutti_fail(err, TUTTI_E_STATE, "a step has one update, after an evaluation");
    e->updated = true;
    crash_breadcrumb.whole = true; /* until the batch counts: weights are ahead of the clock */
    const bool over = e->trainer->plans.updated || scaler_skips(&e->trainer->scaler);
    profiler *const profiled = over ? NULL : e->trainer->observers.profiler;
    const uint32_t span = profiled ? profiler_begin_work(profiled, "update/optimizer") : 0;
    const tutti_status s = over ? TUTTI_OK : updater_step(&e->trainer->updater, err);
    if (profiled)
        profiler_end(profiled, span);
    return s ? s : context_step_device(&e->trainer->run, err);
}

/* The update, by the optimizer alone or by the algorithm that wraps it. */
static tutti_status run_closure(trainer *t, evaluations *e, tutti_error *err)
{
    const tutti_closure closure = {sizeof closure, 0, e, evaluate, update};
    tutti_evaluation unused;
    if (!t->run.participants.wrapper) {
        const tutti_status s = evaluate(e, &unused, err);
        return s ? s : update(e, err);
    }
    instance *wrapper = t->run.participants.wrapper;
    t->mirrors.who = instance_name(wrapper);
    const breadcrumb outer = instance_breadcrumb(wrapper, "step", true);
    const tutti_status s =
        t->run.participants.wrapper_table->step(instance_self(wrapper), &closure, err);
    crash_leave(&outer);
    t->mirrors.who = NULL;
    if (s == TUTTI_OK && e->count == 0)
        return tutti_fail(err, TUTTI_E_STATE, "%s made a step without evaluating the batch",
                          instance_name(wrapper));
    return s;
}

static tutti_status step_batch(trainer *t, tutti_error *err)
{
    evaluations e;
    memset(&e, 0, sizeof e);
    e.trainer = t;
    t->plans.flops = 0.0;
    t->plans.described = NULL;
    t->run.step.step = crash_breadcrumb.step = (uint64_t)t->run.clock.now.batch;
    t->scalars.counted = false;
    distributed_begin_step(&t->distributed);
    tutti_status s = run_closure(t, &e, err);
    crash_breadcrumb.whole = true; /* also behind an algorithm that wraps the update */
    if (!s)
        s = mirrors_flush(&t->mirrors, true, err);
    distributed_end_step(&t->distributed);
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++)
        free(e.saved_targets[k].own);
    device_report_graphs(t);
    if (s || (s = scaler_update(&t->scaler, err)) ||
        ((trainer_looks(t) || !t->scalars.on) && (s = guard_update(&t->guard, err))))
        return s;
    const tutti_named_value v = {"loss/train/total", e.loss};
    if (trainer_looks(t))
        run_log_metrics(&t->run.log, &v, 1);
    else if ((s = async_end(&t->async, err)))
        return s;
    /* The schedule steps before the clock does, as upstream's: batch k runs at the factor of k - 1. */
    if (t->run.file->schedules.every_batch && (s = updater_schedule(&t->updater, err)))
        return s;
    if (!trainer_measures_async(t))
        metric_set_log(&t->run.log, &t->train.metrics, "train",
                       (uint64_t)t->run.clock.now.batch);
    return TUTTI_OK;
}

tutti_status trainer_step_batch(trainer *t, tutti_error *err)
{
    const tutti_status s = step_batch(t, err);
    if (s)
        crash_breadcrumb.whole = false;
    return s;
}
