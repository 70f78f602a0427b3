/* evaluate.c - evaluations inside a fit: when they are due, and one after the other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer_internal.h"

#include <string.h>

/* `began` is when the batch's work began, its loading included. */
static tutti_status eval_batch(trainer *t, source *e, int64_t began, tutti_error *err)
{
    tutti_status s = trainer_event(t, TUTTI_EVENT_EVAL_BATCH_START, err);
    if (s || (s = trainer_event(t, TUTTI_EVENT_EVAL_BEFORE_FORWARD, err)))
        return s;
    plan_request request;
    plan *p;
    s = trainer_request(t, PLAN_EVAL, &t->eval_batch, &request, err);
    if (s || (s = net_plan(t->net, &request, &p, err)))
        return s;
    if ((s = trainer_bind_inputs(t, p, &t->eval_batch, err)) ||
        (s = trainer_bind_targets(t, p, &t->eval_batch, err)) ||
        (s = trainer_run(t, p, SEGMENT_FORWARD, 1.0f, err)) ||
        (s = trainer_run(t, p, SEGMENT_LOSS, 1.0f, err)))
        return s;
    trainer_publish(t, p);
    if ((s = trainer_event(t, TUTTI_EVENT_EVAL_AFTER_FORWARD, err)))
        return s;
    tutti_tensor outputs[2], targets[TUTTI_MAX_COLUMNS];
    for (uint32_t k = 0; k < request.ntargets && !s; k++)
        s = trainer_see_column(t, "", batch_find(&t->eval_batch, t->model_table->targets[k]),
                               &targets[k], err);
    tutti_metric_input in = {.struct_size = sizeof in,
                             .noutputs = t->noutputs,
                             .outputs = outputs,
                             .targets = targets,
                             .ntargets = request.ntargets,
                             .samples = t->eval_batch.samples};
    if (s || (s = trainer_see_outputs(t, "", outputs, err)) ||
        (s = trainer_read_loss(t, &in.loss, err)) ||
        (s = metric_set_update(&e->metrics, &in, err)))
        return s;
    timestamp_next_batch(&t->eval_time, t->eval_batch.samples, 0, now_ns() - began);
    return trainer_event(t, TUTTI_EVENT_EVAL_BATCH_END, err);
}

static tutti_status evaluate_one(trainer *t, source *e, tutti_error *err)
{
    t->eval_label = e->spec->label;
    memset(&t->eval_time, 0, sizeof t->eval_time);
    t->eval_time.struct_size = sizeof t->eval_time;
    metric_set_reset(&e->metrics);
    tutti_status s = source_seek(e, 0, 0, err);
    if (s || (s = trainer_event(t, TUTTI_EVENT_EVAL_START, err)))
        return s;
    while (!trainer_signal()) {
        int64_t samples;
        const int64_t began = now_ns();
        if ((s = source_next(t, e, &t->eval_batch, &samples, err)))
            return s;
        if (samples == 0)
            break;
        if ((s = eval_batch(t, e, began, err)))
            return s;
    }
    if (!trainer_signal()) /* half an evaluation says nothing */
        metric_set_log(t, &e->metrics, e->spec->label, (uint64_t)t->time.batch);
    s = trainer_event(t, TUTTI_EVENT_EVAL_END, err);
    t->eval_label = NULL;
    return s;
}

/* Composer's Trainer.eval: every evaluation once, whatever its interval. */
tutti_status trainer_eval(trainer *t, const char *checkpoint, tutti_error *err)
{
    if (t->nevals == 0)
        return tutti_fail(err, TUTTI_E_ARG, "%s: the run file has no evaluation", t->run->name);
    tutti_status s = trainer_begin(t, checkpoint, err);
    if (s || (s = trainer_event(t, TUTTI_EVENT_EVAL_STANDALONE_START, err)))
        return s;
    t->phase = PHASE_EVAL;
    for (size_t k = 0; k < t->nevals && s == TUTTI_OK && !trainer_signal(); k++)
        s = evaluate_one(t, &t->evals[k], err);
    t->phase = PHASE_IDLE;
    if (s == TUTTI_OK && trainer_signal())
        return tutti_fail(err, TUTTI_E_INTERRUPTED, "stopped by signal %d", trainer_signal());
    return s ? s : trainer_event(t, TUTTI_EVENT_EVAL_STANDALONE_END, err);
}

tutti_status trainer_evaluate_due(trainer *t, int32_t event, tutti_error *err)
{
    bool started = false;
    tutti_status s = TUTTI_OK;
    const int phase = t->phase;
    const int64_t began = now_ns();
    for (size_t k = 0; k < t->nevals && s == TUTTI_OK && !trainer_signal(); k++) {
        source *e = &t->evals[k];
        bool due;
        s = interval_due(&e->due, event, &t->time, t->has_previous ? &t->previous : NULL,
                         t->max_duration, loader_batches(t->train.loader), &due, err);
        if (s || !due)
            continue;
        if (!started) {
            started = true;
            if ((s = trainer_event(t, TUTTI_EVENT_EVAL_BEFORE_ALL, err)))
                break;
            t->phase = PHASE_EVAL;
        }
        s = evaluate_one(t, e, err);
    }
    t->phase = phase;
    if (started && s == TUTTI_OK)
        s = trainer_event(t, TUTTI_EVENT_EVAL_AFTER_ALL, err);
    if (started)
        t->clock_ns += now_ns() - began; /* training time excludes evaluations */
    return s;
}
