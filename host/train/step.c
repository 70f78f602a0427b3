/* step.c - one training batch: microbatches forward, loss, backward, then the update. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/place.h"
#include "train/trainer_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

batch *trainer_batch(trainer *t)
{
    if (t->phase == PHASE_EVAL)
        return &t->eval_batch;
    return t->phase == PHASE_MICROBATCH ? &t->micro : &t->whole;
}

static tutti_status describe(batch *b, const char *const *names, tutti_desc *descs,
                             uint32_t *ret_count, tutti_error *err)
{
    uint32_t n = 0;
    for (; names && names[n]; n++) {
        const slot *s = batch_find(b, names[n]);
        if (!s)
            return tutti_fail(
                err, TUTTI_E_NOTFOUND,
                "the model needs the batch column %s, which the data does not have", names[n]);
        descs[n] = s->now.desc;
    }
    *ret_count = n;
    return TUTTI_OK;
}

tutti_status trainer_request(trainer *t, int kind, batch *b, plan_request *ret_request,
                             tutti_error *err)
{
    memset(ret_request, 0, sizeof *ret_request);
    ret_request->kind = kind;
    const tutti_status s =
        describe(b, t->model_table->inputs, ret_request->inputs, &ret_request->ninputs, err);
    return s ? s
             : describe(b, t->model_table->targets, ret_request->targets,
                        &ret_request->ntargets, err);
}

/* Kernels want 64-byte alignment; rows inside a batch often do not have it. */
static bool aligned(const void *p)
{
    return ((uintptr_t)p & 63) == 0;
}

/* Where the plan reads column `from`, its k-th input or target. */
static tutti_status bind(trainer *t, plan *p, uint32_t k, const tutti_tensor *from, bool target,
                         tutti_error *err)
{
    const tutti_device *d = trainer_device(t);
    const uint64_t bytes = tutti_nbytes(&from->desc);
    void (*set)(plan *, uint32_t, const void *) = target ? plan_set_target : plan_set_input;
    const bool here = from->device == TUTTI_DEVICE_CPU;
    /* On a device the plan reads its own memory: graphs of a device know their places. */
    if (place_is_host(d) && aligned(from->data)) {
        set(p, k, from->data);
        return TUTTI_OK;
    }
    set(p, k, NULL);
    void *to = (target ? plan_target(p, k) : plan_input(p, k)).data;
    if (!to)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a batch's column of %llu bytes",
                          (unsigned long long)bytes);
    return place_is_host(d) || !here
               ? place_copy(d, to, from->data, bytes, TUTTI_COPY_ON_DEVICE, err)
               : upload_run(&t->uploads, d, k + (target ? TUTTI_MAX_COLUMNS : 0), to, from,
                            err);
}

tutti_status trainer_bind_inputs(trainer *t, plan *p, batch *b, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; t->model_table->inputs[k] && !s; k++)
        s = bind(t, p, k, &batch_find(b, t->model_table->inputs[k])->now, false, err);
    return s;
}

tutti_status trainer_bind_targets(trainer *t, plan *p, batch *b, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; t->model_table->targets && t->model_table->targets[k] && !s; k++)
        s = bind(t, p, k, &batch_find(b, t->model_table->targets[k])->now, true, err);
    return s;
}

tutti_status trainer_run(trainer *t, plan *p, int segment, float loss_scale, tutti_error *err)
{
    static const unsigned changes[] = {1u << VIEW_RESULTS | 1u << VIEW_BUFFERS,
                                       1u << VIEW_RESULTS, 1u << VIEW_GRADIENTS};
    const tutti_status s = views_settle(t, false, err);
    if (s)
        return s;
    views_age(t, changes[segment]);
    return plan_run(p, segment, &t->step, loss_scale, err);
}

int trainer_merges(const trainer *t, int first, bool last)
{
    const engine *e = t->engine;
    int end = first;
    if (end == SEGMENT_FORWARD && !engine_hears(e, TUTTI_EVENT_AFTER_FORWARD) &&
        !engine_hears(e, TUTTI_EVENT_BEFORE_LOSS))
        end = SEGMENT_LOSS;
    if (end == SEGMENT_LOSS && !engine_hears(e, TUTTI_EVENT_AFTER_LOSS) &&
        !engine_hears(e, TUTTI_EVENT_BEFORE_BACKWARD))
        end = SEGMENT_BACKWARD;
    if (end == SEGMENT_BACKWARD && last && !t->wrapper && updater_merges(t) &&
        !engine_hears(e, TUTTI_EVENT_AFTER_BACKWARD) &&
        !engine_hears(e, TUTTI_EVENT_AFTER_TRAIN_BATCH))
        end = SEGMENT_UPDATE;
    return end;
}

/* Segments `first` to `last` as one. */
static tutti_status run_merged(trainer *t, plan *p, int first, int last, tutti_error *err)
{
    const bool updates = last == SEGMENT_UPDATE;
    plan_tail tail;
    tutti_status s = TUTTI_OK;
    if (first == last)
        return trainer_run(t, p, first, t->loss_scale, err);
    if ((s = views_settle(t, false, err)) || (updates && (s = updater_begin(t, err))))
        return s;
    views_age(t, VIEW_ALL);
    if (updates)
        tail = updater_tail(t);
    s = plan_run_merged(p, first, updates ? SEGMENT_BACKWARD : last, updates ? &tail : NULL,
                        &t->step, t->loss_scale, err);
    if (updates && !s)
        updater_end(t);
    t->updated = updates && !s;
    return s;
}

tutti_status trainer_read_loss(trainer *t, double *ret_loss, tutti_error *err)
{
    float loss = 0.0f;
    const tutti_status s = place_copy(trainer_device(t), &loss, t->loss.now.data, sizeof loss,
                                      TUTTI_COPY_FROM_DEVICE, err);
    *ret_loss = (double)loss;
    return s;
}

tutti_status trainer_see_outputs(trainer *t, const char *who, tutti_tensor *ret_outputs,
                                 tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    const char *const before = t->views.who;
    t->views.who = who;
    for (uint32_t k = 0; k < t->noutputs && !s; k++) {
        ret_outputs[k] = t->outputs[k].now;
        s = view_open(t, &t->outputs[k].view, VIEW_RESULTS, &ret_outputs[k], err);
    }
    t->views.who = before;
    return s;
}

void trainer_publish(trainer *t, plan *p)
{
    t->noutputs = plan_noutputs(p) < 2 ? plan_noutputs(p) : 2;
    for (uint32_t k = 0; k < t->noutputs; k++)
        t->outputs[k].now = plan_output(p, k);
    t->loss.now = plan_loss(p);
}

/* Whether the host wants each evaluation's loss at once, wherever it is. */
static bool looks(const trainer *t)
{
    return !trainer_is_remote(t) || (t->wrapper && t->wrapper_looks);
}

/* Whether training metrics are read when the device has done the step, not at once. */
static bool measures_late(const trainer *t)
{
    return t->train.metrics.count && !looks(t);
}

/* What metrics compare with: the targets before any algorithm. */
static tutti_status keep_targets(trainer *t, slot *kept, tutti_error *err)
{
    if (measures_late(t))
        return late_targets(t, err);
    for (uint32_t k = 0; t->model_table->targets[k] && k < TUTTI_MAX_COLUMNS; k++) {
        const tutti_status s =
            slot_set(&kept[k], trainer_device(t),
                     &batch_find(&t->micro, t->model_table->targets[k])->now, err);
        if (s)
            return s;
    }
    return TUTTI_OK;
}

static tutti_status update_metrics(trainer *t, const slot *kept, tutti_error *err)
{
    tutti_tensor targets[TUTTI_MAX_COLUMNS], outputs[2];
    uint32_t n = 0;
    for (; t->model_table->targets[n] && n < TUTTI_MAX_COLUMNS; n++)
        targets[n] = kept[n].now;
    tutti_metric_input in = {.struct_size = sizeof in,
                             .noutputs = t->noutputs,
                             .outputs = outputs,
                             .targets = targets,
                             .ntargets = n,
                             .samples = t->micro.samples};
    tutti_status s =
        trainer_see_outputs(t, instance_name(t->train.metrics.instances[0]), outputs, err);
    if (s || (s = trainer_read_loss(t, &in.loss, err)))
        return s;
    return metric_set_update(&t->train.metrics, &in, err);
}

static tutti_status note_loss(trainer *t, double weight, double *loss, tutti_error *err)
{
    if (trainer_is_remote(t))
        return late_note(t, weight, err);
    *loss += weight * (double)*(const float *)t->loss.now.data;
    return TUTTI_OK;
}

/* A part of the batch. */
typedef struct part {
    bool first; /* it overwrites the gradients, later ones add */
    bool last;
    double weight; /* in the loss */
} part;

/* What the loss of `p` is multiplied by. */
static tutti_status aim_scale(trainer *t, plan *p, const part *m, tutti_error *err)
{
    if (!t->scaler.on || !t->scalars.on) {
        t->loss_scale = (float)(m->weight * scaler_scale(&t->scaler));
        return TUTTI_OK;
    }
    t->loss_scale = NAN;
    return scalars_loss_scale(t, m->weight, plan_scale(p), err);
}

/* The forward pass and what runs as one with it; *ret_done: the last segment that did. */
static tutti_status run_forward(trainer *t, const part *m, int *ret_done, tutti_error *err)
{
    plan_request request;
    tutti_status s =
        trainer_request(t, m->first ? PLAN_TRAIN : PLAN_TRAIN_ADD, &t->micro, &request, err);
    if (s || (s = net_plan(t->net, &request, &t->plan, err)))
        return s;
    t->loss_plan = t->plan;
    *ret_done = trainer_merges(t, SEGMENT_FORWARD, m->last);
    if ((s = trainer_bind_inputs(t, t->plan, &t->micro, err)) ||
        (*ret_done > SEGMENT_FORWARD &&
         ((s = trainer_bind_targets(t, t->plan, &t->micro, err)) ||
          (s = aim_scale(t, t->plan, m, err)))) ||
        (s = run_merged(t, t->plan, SEGMENT_FORWARD, *ret_done, err)))
        return s;
    trainer_publish(t, t->plan);
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
    s = trainer_request(t, m->first ? PLAN_TRAIN : PLAN_TRAIN_ADD, &t->micro, &request, err);
    if (s || (s = net_plan(t->net, &request, &t->loss_plan, err)))
        return s;
    *ret_done = trainer_merges(t, SEGMENT_LOSS, m->last);
    if ((s = trainer_bind_targets(t, t->loss_plan, &t->micro, err)) ||
        (s = aim_scale(t, t->loss_plan, m, err)) ||
        (s = run_merged(t, t->loss_plan, SEGMENT_LOSS, *ret_done, err)))
        return s;
    trainer_publish(t, t->loss_plan);
    return TUTTI_OK;
}

/* Events 11 to 16 for one microbatch, where anybody hears them. */
static tutti_status microbatch(trainer *t, const part *m, slot *kept, double *ret_loss,
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
    if ((s = note_loss(t, m->weight, ret_loss, err)))
        return s;
    /* After-events may have put the first targets back; the backward pass keeps its own. */
    if (done == SEGMENT_LOSS) {
        done = trainer_merges(t, SEGMENT_BACKWARD, m->last);
        if ((s = run_merged(t, t->loss_plan, SEGMENT_BACKWARD, done, err)))
            return s;
    }
    if (done == SEGMENT_BACKWARD && (s = trainer_event(t, TUTTI_EVENT_AFTER_BACKWARD, err)))
        return s;
    if (!t->train.metrics.count)
        return TUTTI_OK;
    return measures_late(t) ? late_outputs(t, err) : update_metrics(t, kept, err);
}

bool trainer_halve(trainer *t, tutti_error *err)
{
    char text[160];
    if (t->run->microbatch_size != RUN_MICROBATCH_AUTO || t->microbatch_size <= 1)
        return false;
    (void)snprintf(text, sizeof text,
                   "memory is out with %lld samples at a time; microbatch_size is now %lld",
                   (long long)t->microbatch_size, (long long)(t->microbatch_size + 1) / 2);
    t->microbatch_size = (t->microbatch_size + 1) / 2;
    *err = (tutti_error)TUTTI_ERROR_INIT;
    trainer_message(t, TUTTI_LOG_WARNING, "train", text);
    return true;
}

static tutti_status microbatches(trainer *t, slot *kept, bool first, double *ret_loss,
                                 tutti_error *err)
{
    const int64_t all = t->whole.samples;
    const int64_t size = t->microbatch_size < all ? t->microbatch_size : all;
    tutti_status s = trainer_is_remote(t)
                         ? late_begin(t, (uint32_t)((all + size - 1) / (size ? size : 1)),
                                      first, measures_late(t), err)
                         : TUTTI_OK;
    *ret_loss = 0.0;
    if (!measures_late(t))
        metric_set_reset(&t->train.metrics);
    t->microbatch = 0;
    for (int64_t at = 0; at < all && s == TUTTI_OK; at += size, t->microbatch++) {
        const int64_t count = at + size < all ? size : all - at;
        batch_slice(&t->micro, &t->whole, at, count);
        t->phase = PHASE_MICROBATCH;
        t->step.microbatch = t->microbatch;
        t->step.first_sample = (uint64_t)at;
        if (t->train.metrics.count)
            s = keep_targets(t, kept, err);
        const part m = {at == 0, at + size >= all, (double)count / (double)all};
        if (s == TUTTI_OK)
            s = microbatch(t, &m, kept, ret_loss, err);
        t->phase = PHASE_BATCH;
    }
    t->microbatch = 0;
    return s;
}

/* What a step's evaluations share. */
typedef struct evaluations {
    trainer *trainer;
    slot kept[TUTTI_MAX_COLUMNS];
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
    t->updated = false;
    tutti_status s = views_settle(t, true, err); /* what a wrapper has written */
    if (s || (s = trainer_event(t, TUTTI_EVENT_BEFORE_TRAIN_BATCH, err)))
        return s;
    do /* the first microbatch overwrites gradients, so the batch can begin again */
        s = microbatches(t, e->kept, e->count == 0, &loss, err);
    while (s == TUTTI_E_NOMEM && trainer_halve(t, err));
    if (s)
        return s;
    if (!t->updated && ((s = scaler_unscale(t, err)) ||
                        (s = trainer_event(t, TUTTI_EVENT_AFTER_TRAIN_BATCH, err))))
        return s;
    if (trainer_is_remote(t)) {
        loss = (double)NAN; /* nobody is to wait for it */
        if (looks(t) && (s = late_sum(t, &loss, err)))
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
    const bool over = e->trainer->updated || scaler_skips(&e->trainer->scaler);
    const tutti_status s = over ? TUTTI_OK : updater_step(e->trainer, err);
    return s ? s : trainer_step_device(e->trainer, err);
}

/* The update, by the optimizer alone or by the algorithm that wraps it. */
static tutti_status optimizer_step(trainer *t, evaluations *e, tutti_error *err)
{
    const tutti_closure closure = {sizeof closure, 0, e, evaluate, update};
    tutti_evaluation unused;
    if (!t->wrapper) {
        const tutti_status s = evaluate(e, &unused, err);
        return s ? s : update(e, err);
    }
    t->views.who = instance_name(t->wrapper);
    const tutti_status s = t->wrapper_table->step(instance_self(t->wrapper), &closure, err);
    t->views.who = NULL;
    if (s == TUTTI_OK && e->count == 0)
        return tutti_fail(err, TUTTI_E_STATE, "%s made a step without evaluating the batch",
                          instance_name(t->wrapper));
    return s;
}

tutti_status trainer_step_batch(trainer *t, tutti_error *err)
{
    evaluations e;
    memset(&e, 0, sizeof e);
    e.trainer = t;
    t->step.step = (uint64_t)t->time.batch;
    t->scalars.counted = false;
    tutti_status s = optimizer_step(t, &e, err);
    if (!s)
        s = views_settle(t, true, err);
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++)
        free(e.kept[k].own);
    if (s || (s = scaler_update(t, err)))
        return s;
    const tutti_named_value v = {"loss/train/total", e.loss};
    if (looks(t))
        trainer_log(t, &v, 1);
    else if ((s = late_end(t, err)))
        return s;
    /* The schedule steps before the clock does, as upstream's: batch k runs at the factor of k - 1. */
    if (t->run->step_schedulers_every_batch && (s = updater_schedule(t, err)))
        return s;
    if (!measures_late(t))
        metric_set_log(t, &t->train.metrics, "train", (uint64_t)t->time.batch);
    return TUTTI_OK;
}
