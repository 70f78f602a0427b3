/* evaluate.c - evaluations inside a fit: when they are due, and one after the other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/evaluate.h"

#include "base/monotonic.h"
#include "train/checkpoint/resume.h"
#include "train/generate/answers.h"
#include "train/step/memory_observers.h"
#include "train/step/plan_step.h"
#include "train/step/trainer_events.h"
#include "train/step/trainer_state.h"
#include "train/trainer/begin.h"
#include "train/trainer/rank_batches.h"
#include "train/trainer/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tutti_status trainer_evaluate_batch(trainer *t, tutti_error *err)
{
    batch *b = tensors_batch(&t->tensors);
    plan_request request;
    plan *p;
    tutti_status s = trainer_request(t, PLAN_EVAL, b, &request, err);
    if (s || (s = net_plan(t->run.net, &request, &p, err)) ||
        (s = trainer_bind_inputs(t, p, b, err)) || (s = trainer_bind_targets(t, p, b, err)) ||
        (s = trainer_run(t, p, SEGMENT_FORWARD, 1.0f, err)) ||
        (s = trainer_run(t, p, SEGMENT_LOSS, 1.0f, err)))
        return s;
    tensors_publish(&t->tensors, p);
    return TUTTI_OK;
}

static bool generates(const data_source *e)
{
    return e->spec->generate.max_new_tokens > 0;
}

static tutti_status measure(trainer *t, data_source *e, tutti_error *err)
{
    static const char *const references[] = {ANSWERS_REFERENCES, NULL};
    batch *b = tensors_batch(&t->tensors);
    tutti_tensor outputs[2], targets[TUTTI_MAX_COLUMNS];
    tutti_status s = TUTTI_OK;
    uint32_t n = 0;
    const char *const *names = generates(e) ? references : t->run.model_table->targets;
    for (; names && n < TUTTI_MAX_COLUMNS && names[n] && !s; n++)
        s = tensors_mirror_column(&t->tensors, "", batch_find(b, names[n]), &targets[n], err);
    tutti_metric_input in = {.struct_size = sizeof in,
                             .noutputs = t->tensors.noutputs,
                             .outputs = outputs,
                             .targets = targets,
                             .ntargets = n,
                             .loss = (double)NAN,
                             .samples = b->samples};
    if (s || (s = tensors_mirror_outputs(&t->tensors, "", outputs, err)) ||
        (!generates(e) && (s = tensors_read_loss(&t->tensors, &in.loss, err))))
        return s;
    return metric_set_update(&e->metrics, &in, err);
}

/* The batch, or the part of it, that is under way.  Every rank hears of every batch; one of them computes it. */
static tutti_status eval_part(trainer *t, data_source *e, tutti_error *err)
{
    bool mine = rank_evaluates(t);
    t->tensors.noutputs = 0; /* those of the one before */
    t->tensors.loss.now.data = NULL;
    t->distributed.batches.passed = false;
    tutti_status s = trainer_event(t, TUTTI_EVENT_EVAL_BEFORE_FORWARD, err);
    if (!s && mine)
        s = generates(e) ? answers_batch(t, &t->evaluation->answers, e->spec, err)
                         : trainer_evaluate_batch(t, err);
    if (rank_leaves_batch(t, s)) {
        *err = (tutti_error)TUTTI_ERROR_INIT;
        s = TUTTI_OK;
        mine = false;
    }
    if (s)
        return s;
    t->distributed.batches.passed = true;
    s = trainer_event(t, TUTTI_EVENT_EVAL_AFTER_FORWARD, err);
    return s || !mine ? s : measure(t, e, err);
}

/* After `err` says that memory is out: parts become half as large where the run file says auto. */
static bool halve(trainer *t, data_source *e, int64_t count, tutti_error *err)
{
    char text[200];
    if (e->spec->microbatch_size != RUN_MICROBATCH_AUTO || count <= 1)
        return false;
    e->at_a_time = (count + 1) / 2;
    (void)snprintf(text, sizeof text,
                   "memory is out with %lld samples at a time; microbatch_size of the "
                   "evaluation %.60s is now %lld",
                   (long long)count, e->spec->label, (long long)e->at_a_time);
    *err = (tutti_error)TUTTI_ERROR_INIT;
    run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", text);
    return true;
}

/* A part whose memory could not be had has changed no metric and comes again, smaller. */
static tutti_status eval_parts(trainer *t, data_source *e, tutti_error *err)
{
    const int64_t all = t->tensors.eval.samples;
    tutti_status s = TUTTI_OK;
    for (int64_t at = 0, count; at < all && !s; at += s ? 0 : count) {
        count = e->at_a_time && e->at_a_time < all - at ? e->at_a_time : all - at;
        t->tensors.phase = count < all ? PHASE_EVAL_PART : PHASE_EVAL;
        if (count < all)
            batch_slice(&t->tensors.eval_part, &t->tensors.eval, at, count);
        s = eval_part(t, e, err);
        if (s == TUTTI_E_NOMEM)
            memory_step_failed(t, err);
        if (s == TUTTI_E_NOMEM && halve(t, e, count, err)) {
            s = TUTTI_OK;
            count = 0;
        }
    }
    return s;
}

/* `began` is when the batch's work began, its loading included. */
static tutti_status eval_batch(trainer *t, data_source *e, int64_t began, tutti_error *err)
{
    t->tensors.noutputs = 0; /* those of the batch before */
    t->tensors.loss.now.data = NULL;
    t->distributed.batches.passed = false;
    tutti_status s = trainer_event(t, TUTTI_EVENT_EVAL_BATCH_START, err);
    if (s || (s = eval_parts(t, e, err)))
        return s;
    timestamp_next_batch(&t->run.clock.eval, t->tensors.eval.samples, 0,
                         monotonic_ns() - began);
    s = trainer_event(t, TUTTI_EVENT_EVAL_BATCH_END,
                      err); /* the batch is its last part, as upstream */
    t->tensors.phase = PHASE_EVAL;
    return s ? s : rank_next_evaluation_batch(t, err);
}

static tutti_status eval_batches(trainer *t, data_source *e, tutti_error *err)
{
    while (!trainer_signal()) {
        int64_t samples;
        const int64_t began = monotonic_ns();
        tutti_status s = source_next(e, &t->mirrors, &t->tensors.eval, &samples, err);
        if (s || samples == 0)
            return s;
        if ((s = eval_batch(t, e, began, err)))
            return s;
    }
    return TUTTI_OK;
}

/* For who looks at a batch of another rank. */
static tutti_status compute(void *ctx, tutti_error *err)
{
    return trainer_evaluate_batch(ctx, err);
}

/* ---- those that are owed: due or begun behind a batch or an epoch, and not done ---- */

/* In the place of `last_batch`, so that checkpoints keep it: both are -1 at least. */
static void owe(data_source *e)
{
    if (e->due.last_batch >= -1 && e->due.last_batch < INT64_MAX - 2)
        e->due.last_batch = -3 - e->due.last_batch;
}

static bool is_owed(const data_source *e)
{
    return e->due.last_batch < -1;
}

static void owe_no_more(data_source *e)
{
    if (is_owed(e))
        e->due.last_batch = -3 - e->due.last_batch;
}

bool trainer_owes_evaluations(const trainer *t)
{
    bool owes = false;
    for (size_t k = 0; k < t->nevals && !owes; k++)
        owes = is_owed(&t->evals[k]);
    return owes;
}

void trainer_owe_no_evaluations(trainer *t)
{
    for (size_t k = 0; k < t->nevals; k++)
        owe_no_more(&t->evals[k]);
}

/* Events behind which a stopped run is saved: weights are those of the evaluation, and the event does not come again. */
static bool can_owe(const trainer *t)
{
    return t->run.stage.event == TUTTI_EVENT_BATCH_END ||
           t->run.stage.event == TUTTI_EVENT_EPOCH_END;
}

static void tell_lost(trainer *t, const data_source *e)
{
    char text[200];
    (void)snprintf(text, sizeof text,
                   "the evaluation %.60s was stopped by the signal; a run that goes on does it "
                   "only if its event comes again",
                   e->spec->label);
    run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", text);
}

/* What TRACE_EVALUATION has, if it is open, holds or goes aside. */
static void end_traces(trainer *t, bool holds)
{
    if (holds)
        observers_close_unit(&t->observers, TRACE_EVALUATION);
    else
        observers_take_back(&t->observers, &t->run, TRACE_EVALUATION);
}

/* ---- one ---- */

static tutti_status begin_one(trainer *t, data_source *e, tutti_error *err)
{
    t->run.stage.evaluation = e->spec->label;
    if (is_owed(e)) /* the first one of all: EVAL_BEFORE_ALL has opened it */
        observers_open_unit(&t->observers, TRACE_EVALUATION);
    memset(&t->run.clock.eval, 0, sizeof t->run.clock.eval);
    t->run.clock.eval.struct_size = sizeof t->run.clock.eval;
    metric_set_reset(&e->metrics);
    if (!e->at_a_time && e->spec->microbatch_size > 0)
        e->at_a_time = e->spec->microbatch_size;
    tutti_status s = weights_gather_all(&t->distributed.gradients.weights, err);
    if (s || (s = rank_begin_evaluation(t, e, compute, err)) || (s = source_seek(e, 0, 0, err)))
        return s;
    return trainer_event(t, TUTTI_EVENT_EVAL_START, err);
}

static tutti_status end_one(trainer *t, data_source *e, tutti_error *err)
{
    t->run.stage.cut = trainer_signal() != 0;
    if (!t->run.stage.cut) { /* half an evaluation says nothing */
        metric_set_log(&t->run.log, &e->metrics, e->spec->label,
                       (uint64_t)t->run.clock.now.batch);
        owe_no_more(e);
        t->resume->some_evaluated = trainer_owes_evaluations(t);
        observers_close_unit(&t->observers, TRACE_EVALUATION);
    }
    return trainer_event(t, TUTTI_EVENT_EVAL_END, err);
}

/* What gives up waiting for data, or a text under way, because of a signal has not failed. */
static tutti_status forgive(tutti_status s, tutti_error *err)
{
    if (s != TUTTI_E_INTERRUPTED || !trainer_signal())
        return s;
    *err = (tutti_error)TUTTI_ERROR_INIT;
    return TUTTI_OK;
}

static tutti_status evaluate_one(trainer *t, data_source *e, tutti_error *err)
{
    t->run.stage.cut = false;
    tutti_status s = begin_one(t, e, err);
    if (!s && !(s = rank_end_evaluation(t, forgive(eval_batches(t, e, err), err), err)))
        s = end_one(t, e, err);
    t->run.stage.evaluation = NULL;
    s = forgive(s, err);
    if (s)
        owe_no_more(e);
    end_traces(t, !is_owed(e)); /* one that is cut comes again */
    return s;
}

tutti_status trainer_evaluate_now(trainer *t, size_t k, tutti_error *err)
{
    data_source *e = &t->evals[k];
    const int phase = t->tensors.phase;
    const int64_t began = monotonic_ns();
    if (phase >= PHASE_EVAL)
        return tutti_fail(err, TUTTI_E_STATE, "an evaluation is under way already");
    if (t->hooks.data == e)
        return tutti_fail(err, TUTTI_E_STATE, "the loop goes through the data of %s now",
                          e->spec->label);
    if (can_owe(t))
        owe(e);
    tutti_status s = async_flush(&t->async, err);
    t->tensors.phase = PHASE_EVAL;
    t->run.stage.cut = trainer_signal() != 0;
    if (!s && !t->run.stage.cut)
        s = evaluate_one(t, e, err);
    if (t->run.stage.cut && !is_owed(e))
        tell_lost(t, e);
    t->run.stage.cut = false;
    tensors_end_batch(&t->tensors);
    t->tensors.phase = phase;
    t->run.clock.lap_ns += monotonic_ns() - began; /* training time excludes evaluations */
    return s;
}

/* Handlers that come behind it look at its metrics: where it is cut they wait for the run that goes on. */
static tutti_status evaluate_on_event(void *ctx, int32_t event, tutti_error *err)
{
    const loop_evaluation *e = ctx;
    trainer *t = e->trainer;
    if (can_owe(t) && engine_held(t->run.engine) < 0)
        engine_hold(t->run.engine, event);
    const tutti_status s = trainer_evaluate_now(t, e->number, err);
    if (can_owe(t) && !trainer_owes_evaluations(t))
        engine_hold(t->run.engine, -1);
    return s;
}

tutti_status trainer_bind_evaluations(trainer *t, tutti_error *err)
{
    t->evaluation->on_events = calloc(t->nevals + 1, sizeof *t->evaluation->on_events);
    if (!t->evaluation->on_events)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for evaluations");
    for (size_t k = 0; k < t->nevals; k++) {
        run_data *spec = &t->run.file->evals[k];
        loop_evaluation *e = &t->evaluation->on_events[k];
        if (!spec->on)
            continue;
        *e = (loop_evaluation){.trainer = t, .number = k};
        (void)snprintf(e->name, sizeof e->name, "evaluation %.60s", spec->label);
        binding_own(spec->on, e->name, evaluate_on_event, e);
        const tutti_status s = engine_bind(t->run.engine, spec->on, err);
        if (s)
            return s;
        spec->on = NULL; /* the engine has it */
    }
    return TUTTI_OK;
}

tutti_status trainer_evaluate_all(trainer *t, tutti_error *err)
{
    tutti_status s = trainer_event(t, TUTTI_EVENT_EVAL_STANDALONE_START, err);
    if (s)
        return s;
    t->tensors.phase = PHASE_EVAL;
    for (size_t k = 0; k < t->nevals && s == TUTTI_OK && !trainer_signal(); k++)
        s = evaluate_one(t, &t->evals[k], err);
    t->tensors.phase = PHASE_IDLE;
    if (s == TUTTI_OK && trainer_signal())
        return tutti_fail(err, TUTTI_E_INTERRUPTED, "stopped by signal %d", trainer_signal());
    return s ? s : trainer_event(t, TUTTI_EVENT_EVAL_STANDALONE_END, err);
}

tutti_status trainer_eval(trainer *t, const char *checkpoint, tutti_error *err)
{
    if (t->nevals == 0)
        return tutti_fail(err, TUTTI_E_ARG, "%s: the run file has no evaluation",
                          t->run.file->name);
    tutti_status s = trainer_begin(t, checkpoint, err);
    if (!s && distributed_on(&t->distributed))
        s = distributed_share_choices(&t->distributed, TUTTI_OK, err);
    return s ? s : trainer_evaluate_all(t, err);
}

/* A loop of its own has no events around all but where it is taken up: what these trace never holds. */
static bool is_loop(const trainer *t)
{
    return t->hooks.answer != NULL;
}

/* Loggers get nothing of an event around all that a run which is not stopped does not have. */
static tutti_status around_all(trainer *t, int32_t event, bool again, tutti_error *err)
{
    tutti_status s = async_flush(&t->async, err); /* rows of batches that count */
    if (s)
        return s;
    t->run.log.units.muted = again;
    s = trainer_event(t, event, err);
    t->run.log.units.muted = false;
    return s;
}

/* What it traces holds with the first evaluation.  Where that is done already, the attempt that did it has traced it. */
static tutti_status before_all(trainer *t, tutti_error *err)
{
    const bool again = is_loop(t) || t->resume->some_evaluated;
    observers_open_unit(&t->observers, TRACE_EVALUATION);
    const tutti_status s = around_all(t, TUTTI_EVENT_EVAL_BEFORE_ALL, again, err);
    if (s || again)
        end_traces(t, s != TUTTI_OK);
    return s;
}

/* What it traces holds behind the last evaluation. */
static tutti_status after_all(trainer *t, tutti_error *err)
{
    t->run.stage.cut = trainer_owes_evaluations(t);
    const bool again = t->run.stage.cut || is_loop(t);
    if (again)
        observers_open_unit(&t->observers, TRACE_EVALUATION);
    const tutti_status s = around_all(t, TUTTI_EVENT_EVAL_AFTER_ALL, again, err);
    end_traces(t, s != TUTTI_OK);
    t->run.stage.cut = false;
    return s;
}

tutti_status trainer_evaluate_owed(trainer *t, tutti_error *err)
{
    const int phase = t->tensors.phase;
    const int64_t began = monotonic_ns();
    if (!trainer_owes_evaluations(t) || trainer_signal())
        return TUTTI_OK;
    tutti_status s = before_all(t, err);
    if (!s)
        t->tensors.phase = PHASE_EVAL;
    for (size_t k = 0; k < t->nevals && s == TUTTI_OK && !trainer_signal(); k++)
        if (is_owed(&t->evals[k]))
            s = evaluate_one(t, &t->evals[k], err);
    t->tensors.phase = phase;
    if (s == TUTTI_OK)
        s = after_all(t, err);
    t->run.clock.lap_ns += monotonic_ns() - began; /* training time excludes evaluations */
    return s;
}

static tutti_status owe_due(trainer *t, int32_t event, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    t->resume->some_evaluated = false;
    for (size_t k = 0; k < t->nevals && s == TUTTI_OK; k++) {
        data_source *e = &t->evals[k];
        bool due = false;
        s = interval_due(&e->due, event, &t->run.clock.now,
                         t->run.clock.has_previous ? &t->run.clock.previous : NULL,
                         t->run.clock.max_duration, t->run.clock.batches_per_epoch, &due, err);
        if (!s && due)
            owe(e);
    }
    return s;
}

tutti_status trainer_evaluate_due(trainer *t, int32_t event, tutti_error *err)
{
    const tutti_status s = owe_due(t, event, err);
    return s ? s : trainer_evaluate_owed(t, err);
}

tutti_status trainer_owe_evaluations(trainer *t, tutti_error *err)
{
    return can_owe(t) ? owe_due(t, t->run.stage.event, err) : TUTTI_OK;
}

void evaluation_fini(trainer_evaluation *e)
{
    free(e->on_events);
    answers_free(e->answers);
}
