/* step.c - one training batch: microbatches forward, loss, backward, then the update. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/place.h"
#include "train/trainer_internal.h"

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
    const bool there = place_is_host(d) || from->device != TUTTI_DEVICE_CPU;
    if (there && aligned(from->data)) {
        set(p, k, from->data);
        return TUTTI_OK;
    }
    set(p, k, NULL);
    void *to = (target ? plan_target(p, k) : plan_input(p, k)).data;
    if (!to)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a batch's column of %llu bytes",
                          (unsigned long long)bytes);
    return there ? place_copy(d, to, from->data, bytes, TUTTI_COPY_ON_DEVICE, err)
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

/* What metrics compare with: the targets before any algorithm. */
static tutti_status keep_targets(trainer *t, slot *kept, tutti_error *err)
{
    for (uint32_t k = 0; t->model_table->targets[k] && k < TUTTI_MAX_COLUMNS; k++) {
        const tutti_status s =
            slot_set(&kept[k], &batch_find(&t->micro, t->model_table->targets[k])->now, err);
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
        return late_note(t, weight, t->loss.now.data, err);
    *loss += weight * (double)*(const float *)t->loss.now.data;
    return TUTTI_OK;
}

/* Events 11 to 16 for one microbatch.  `first` overwrites the gradients, later ones add. */
static tutti_status microbatch(trainer *t, bool first, double weight, slot *kept,
                               double *ret_loss, tutti_error *err)
{
    tutti_status s = trainer_event(t, TUTTI_EVENT_BEFORE_FORWARD, err);
    if (s)
        return s;
    plan_request request;
    s = trainer_request(t, first ? PLAN_TRAIN : PLAN_TRAIN_ADD, &t->micro, &request, err);
    if (s || (s = net_plan(t->net, &request, &t->plan, err)))
        return s;
    t->loss_scale = (float)(weight * scaler_scale(&t->scaler));
    if ((s = trainer_bind_inputs(t, t->plan, &t->micro, err)) ||
        (s = trainer_run(t, t->plan, SEGMENT_FORWARD, t->loss_scale, err)))
        return s;
    trainer_publish(t, t->plan);
    if ((s = trainer_event(t, TUTTI_EVENT_AFTER_FORWARD, err)) ||
        (s = trainer_event(t, TUTTI_EVENT_BEFORE_LOSS, err)))
        return s;
    /* Targets may have become soft: that is another plan over the same forward pass. */
    s = trainer_request(t, request.kind, &t->micro, &request, err);
    if (s || (s = net_plan(t->net, &request, &t->loss_plan, err)))
        return s;
    /* The same forward pass, whose inputs are where they were. */
    if ((s = trainer_bind_targets(t, t->loss_plan, &t->micro, err)) ||
        (s = trainer_run(t, t->loss_plan, SEGMENT_LOSS, t->loss_scale, err)))
        return s;
    trainer_publish(t, t->loss_plan);
    if ((s = trainer_event(t, TUTTI_EVENT_AFTER_LOSS, err)) ||
        (s = trainer_event(t, TUTTI_EVENT_BEFORE_BACKWARD, err)))
        return s;
    if ((s = note_loss(t, weight, ret_loss, err)))
        return s;
    /* After-events may have put the first targets back; the backward pass keeps its own. */
    if ((s = trainer_run(t, t->loss_plan, SEGMENT_BACKWARD, t->loss_scale, err)) ||
        (s = trainer_event(t, TUTTI_EVENT_AFTER_BACKWARD, err)))
        return s;
    return t->train.metrics.count ? update_metrics(t, kept, err) : TUTTI_OK;
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

static tutti_status microbatches(trainer *t, slot *kept, double *ret_loss, tutti_error *err)
{
    const int64_t all = t->whole.samples;
    const int64_t size = t->microbatch_size < all ? t->microbatch_size : all;
    tutti_status s = trainer_is_remote(t)
                         ? late_begin(t, (uint32_t)((all + size - 1) / (size ? size : 1)), err)
                         : TUTTI_OK;
    *ret_loss = 0.0;
    metric_set_reset(&t->train.metrics);
    t->microbatch = 0;
    for (int64_t first = 0; first < all && s == TUTTI_OK; first += size, t->microbatch++) {
        const int64_t count = first + size < all ? size : all - first;
        batch_slice(&t->micro, &t->whole, first, count);
        t->phase = PHASE_MICROBATCH;
        t->step.microbatch = t->microbatch;
        t->step.first_sample = (uint64_t)first;
        if (t->train.metrics.count)
            s = keep_targets(t, kept, err);
        if (s == TUTTI_OK)
            s = microbatch(t, first == 0, (double)count / (double)all, kept, ret_loss, err);
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
    tutti_status s = views_settle(t, true, err); /* what a wrapper has written */
    if (s || (s = trainer_event(t, TUTTI_EVENT_BEFORE_TRAIN_BATCH, err)))
        return s;
    do /* the first microbatch overwrites gradients, so the batch can begin again */
        s = microbatches(t, e->kept, &loss, err);
    while (s == TUTTI_E_NOMEM && trainer_halve(t, err));
    if (s)
        return s;
    if ((s = scaler_unscale(t, err)) ||
        (s = trainer_event(t, TUTTI_EVENT_AFTER_TRAIN_BATCH, err)))
        return s;
    if (t->wrapper && trainer_is_remote(t) && (s = late_sum(t, &loss, err)))
        return s;
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
    const tutti_status s =
        scaler_skips(&e->trainer->scaler) ? TUTTI_OK : updater_step(e->trainer, err);
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
    tutti_status s = optimizer_step(t, &e, err);
    if (!s)
        s = views_settle(t, true, err);
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++)
        free(e.kept[k].own);
    if (s)
        return s;
    scaler_update(t);
    const tutti_named_value v = {"loss/train/total", e.loss};
    if (!trainer_is_remote(t) || t->wrapper)
        trainer_log(t, &v, 1);
    else if ((s = late_end(t, err)))
        return s;
    /* The schedule steps before the clock does, as upstream's: batch k runs at the factor of k - 1. */
    if (t->run->step_schedulers_every_batch && (s = updater_schedule(t, err)))
        return s;
    metric_set_log(t, &t->train.metrics, "train");
    return TUTTI_OK;
}
