/* fit.c - Composer's training loop, every event in its place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/resume.h"
#include "train/checkpoint/saver.h"
#include "train/record/record.h"
#include "train/step/train_step.h"
#include "train/step/trainer_events.h"
#include "train/step/trainer_state.h"
#include "train/trainer/begin.h"
#include "train/trainer/evaluate.h"
#include "train/trainer/trainer.h"
#include "train/trainer/training_loop.h"

#include <stddef.h>
#include <string.h>

/* Which order of the data this pass takes: iterations counted in tokens begin the data anew. */
static int64_t data_epoch(const trainer *t)
{
    const bool by_tokens = t->run.file->length.iteration_length.unit == TUTTI_UNIT_TOKEN;
    return t->run.clock.now.epoch + (by_tokens ? t->run.clock.now.iteration : 0);
}

static tutti_status seek(trainer *t, tutti_error *err)
{
    return source_seek(&t->train, data_epoch(t), t->run.clock.now.batch_in_epoch, err);
}

static bool iteration_over(const trainer *t, int32_t unit)
{
    const tutti_time length = t->run.file->length.iteration_length;
    const int64_t here = unit == TUTTI_UNIT_TOKEN ? t->run.clock.now.token_in_iteration
                                                  : t->run.clock.now.epoch_in_iteration;
    return length.unit == unit && here >= length.count;
}

static tutti_status end_iteration(trainer *t, tutti_error *err)
{
    t->run.clock.previous = t->run.clock.now;
    t->run.clock.has_previous = true;
    timestamp_next_iteration(&t->run.clock.now);
    t->resume->iteration_left = true;
    const tutti_status s = trainer_event(t, TUTTI_EVENT_ITERATION_END, err);
    if (s)
        return s;
    t->resume->iteration_left = false;
    return trainer_event(t, TUTTI_EVENT_ITERATION_CHECKPOINT, err);
}

/* One batch from the loader to its checkpoint; *ret_end: the epoch's data is over. */
static tutti_status batch_of_epoch(trainer *t, bool *ret_end, tutti_error *err)
{
    int64_t samples;
    tutti_status s = trainer_event(t, TUTTI_EVENT_BEFORE_DATALOADER, err);
    if (s || (s = source_next(&t->train, &t->mirrors, &t->tensors.whole, &samples, err)))
        return s;
    if (samples == 0) {
        *ret_end = true;
        s = engine_run_marker_only_event(t->run.engine, TUTTI_EVENT_AFTER_DATALOADER, err);
        return s ? s : trainer_event(t, TUTTI_EVENT_DATALOADER_STOP_ITERATION, err);
    }
    training_batch b;
    training_begin_batch(t, samples, &b);
    if ((s = trainer_event(t, TUTTI_EVENT_AFTER_DATALOADER, err)) ||
        (s = trainer_event(t, TUTTI_EVENT_BATCH_START, err)))
        return s;
    training_log_time(t, b.tokens > 0, false);
    if ((s = trainer_step_batch(t, err)))
        return s;
    training_count_batch(t, &b);
    t->resume->left = true;
    if ((s = trainer_event(t, TUTTI_EVENT_BATCH_END, err)) ||
        (s = trainer_evaluate_due(t, TUTTI_EVENT_BATCH_END, err)))
        return s;
    training_end_batch(t);
    if (training_owes_evaluations(t))
        return TUTTI_OK;
    t->resume->left = false;
    s = trainer_event(t, TUTTI_EVENT_BATCH_CHECKPOINT, err);
    return s ? s : training_save_asked(t, err);
}

static tutti_status end_iteration_of_epochs(trainer *t, tutti_error *err)
{
    return iteration_over(t, TUTTI_UNIT_EPOCH) ? end_iteration(t, err) : TUTTI_OK;
}

/* A signal before its evaluations are done leaves the rest to the run that goes on. */
static tutti_status end_epoch(trainer *t, tutti_error *err)
{
    tutti_status s = training_end_epoch(t, err);
    t->resume->left = true;
    if (s || (s = trainer_event(t, TUTTI_EVENT_EPOCH_END, err)) ||
        (s = training_refit(t, err)) || /* of frozen layers */
        (s = trainer_evaluate_due(t, TUTTI_EVENT_EPOCH_END, err)) ||
        training_owes_evaluations(t))
        return s;
    t->resume->left = false;
    s = trainer_event(t, TUTTI_EVENT_EPOCH_CHECKPOINT, err);
    return s ? s : end_iteration_of_epochs(t, err);
}

/* What an attempt before this one has left to do behind its last batch, before the next one. */
static tutti_status take_up(trainer *t, tutti_error *err)
{
    const int64_t batches = t->run.clock.now.batch_in_epoch;
    tutti_status s = training_evaluate_owed(t, err);
    if (!s)
        s = training_save_owed(t, err);
    if (s || trainer_signal())
        return s;
    if (iteration_over(t, TUTTI_UNIT_TOKEN))
        return (s = end_iteration(t, err)) ? s : seek(t, err);
    if (batches == 0)
        return end_iteration_of_epochs(t, err);
    return trainer_finished(t) && batches == loader_batches(t->train.loader) ? end_epoch(t, err)
                                                                             : TUTTI_OK;
}

static tutti_status epoch(trainer *t, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    bool end = false, early = false;
    if (t->run.clock.now.epoch_in_iteration == 0 && t->run.clock.now.batch_in_epoch == 0)
        s = trainer_event(t, TUTTI_EVENT_ITERATION_START, err);
    if (s == TUTTI_OK && t->run.clock.now.batch_in_epoch == 0) {
        if ((s = trainer_event(t, TUTTI_EVENT_EPOCH_START, err)))
            return s;
        training_log_epoch(t);
    }
    while (s == TUTTI_OK && !end && !early) {
        s = batch_of_epoch(t, &end, err);
        if (s == TUTTI_OK && !end && !training_owes_evaluations(t) &&
            iteration_over(t, TUTTI_UNIT_TOKEN))
            return (s = end_iteration(t, err)) ? s : seek(t, err);
        early = !end && run_is_done(&t->run);
    }
    if (s)
        return s;
    if (trainer_signal() && !end)
        return TUTTI_OK; /* stopped: the epoch goes on, or ends, after a resume */
    if (early && t->run.clock.now.batch_in_epoch != loader_batches(t->train.loader))
        return TUTTI_OK;
    return end_epoch(t, err);
}

/* How long this fit lasts, and from where on. */
static tutti_status set_duration(trainer *t, const fit_options *o, tutti_error *err)
{
    char now[40], max[40];
    if (o->reset_time) {
        memset(&t->run.clock.now.iteration, 0,
               sizeof t->run.clock.now - offsetof(tutti_timestamp, iteration));
        t->run.clock.has_previous = false;
        for (size_t k = 0; k < t->nevals; k++)
            t->evals[k].due.last_batch = -1;
    }
    if (o->duration.unit == TUTTI_UNIT_DURATION)
        return tutti_fail(err, TUTTI_E_ARG,
                          "the duration is given in dur, want ep, ba, sp, tok or sec");
    if (o->duration.unit != TUTTI_UNIT_NONE) {
        t->run.clock.planned = o->duration;
        t->run.clock.planned.count += tutti_timestamp_get(&t->run.clock.now, o->duration.unit);
    }
    const tutti_status s = source_check_epochs(&t->train, &t->run, err);
    if (s)
        return s;
    t->run.clock.max_duration = t->run.clock.planned;
    t->run.clock.stopped = false;
    if (o->duration.unit == TUTTI_UNIT_NONE && !o->reset_time)
        training_stop_again(t);
    const bool goes_on = o->reset_time || o->duration.unit != TUTTI_UNIT_NONE;
    if (!goes_on && !trainer_finished(t) && training_has_ended(t))
        return tutti_fail(err, TUTTI_E_STATE,
                          "nothing is left to train: the run has come to its end after batch "
                          "%lld; give a longer max_duration, a duration, or reset the time",
                          (long long)t->run.clock.now.batch);
    if (!trainer_finished(t) || !training_is_over(t))
        return TUTTI_OK;
    const tutti_time here = {tutti_timestamp_get(&t->run.clock.now, t->run.clock.planned.unit),
                             0.0, t->run.clock.planned.unit, 0};
    return tutti_fail(err, TUTTI_E_STATE,
                      "nothing is left to train: max_duration is %s and %s have passed; give a "
                      "longer max_duration, a duration, or reset the time",
                      duration_text(t->run.clock.planned, max, sizeof max),
                      duration_text(here, now, sizeof now));
}

/* A max_duration of 0. */
static tutti_status evaluate_alone(trainer *t, tutti_error *err)
{
    const tutti_status s = distributed_on(&t->distributed)
                               ? distributed_share_choices(&t->distributed, TUTTI_OK, err)
                               : TUTTI_OK;
    return s ? s : trainer_evaluate_all(t, err);
}

static tutti_status fit(trainer *t, const fit_options *o, tutti_error *err)
{
    t->run.stage.fits = true;
    t->resume->over = t->resume->ending = false;
    t->resume->strict = o->strict;
    t->resume->anew = o->reset_time;
    t->resume->accept_bits = o->accept_bits;
    tutti_status s = t->run.stage.begun ? TUTTI_OK : trainer_begin(t, o->resume, err);
    if (!s && t->run.file->length.max_duration.count == 0 &&
        o->duration.unit == TUTTI_UNIT_NONE) {
        record_anew(t);
        return evaluate_alone(t, err);
    }
    if (s || (s = set_duration(t, o, err)) || (s = training_plan(t, err)) ||
        (s = seek(t, err)) || (s = trainer_event(t, TUTTI_EVENT_FIT_START, err)))
        return s;
    training_start_clock(t);
    s = take_up(t, err);
    while (s == TUTTI_OK && !run_is_done(&t->run))
        s = epoch(t, err);
    if (s == TUTTI_E_INTERRUPTED && trainer_signal()) { /* data was not waited for */
        *err = (tutti_error)TUTTI_ERROR_INIT;
        s = TUTTI_OK;
    }
    if (s == TUTTI_OK && !trainer_signal())
        s = training_check(t, err);
    /* Ignite's ends: what failed, was interrupted or was stopped is told before it takes effect. */
    const int32_t told = s                      ? TUTTI_EVENT_EXCEPTION_RAISED
                         : trainer_signal()     ? TUTTI_EVENT_INTERRUPT
                         : t->run.clock.stopped ? TUTTI_EVENT_TERMINATE
                                                : -1;
    tutti_error ignored = TUTTI_ERROR_INIT;
    const tutti_status known = async_flush(&t->async, s ? &ignored : err);
    s = s ? s : known;
    const tutti_status heard = told < 0 ? TUTTI_OK : trainer_event(t, told, s ? &ignored : err);
    if (s || (s = heard))
        return s;
    if (trainer_signal())
        return training_stop_by_signal(t, err);
    observers_open_unit(&t->observers, TRACE_BATCH); /* these rows are of the end, too */
    training_log_time(t, t->run.clock.now.token > 0, true);
    t->resume->ending = true;
    /* Behind the last batch ranks tell each other nothing else. */
    s = distributed_agree(&t->distributed, trainer_event(t, TUTTI_EVENT_FIT_END, err), err);
    if (s)
        return s;
    s = trainer_evaluate_due(t, TUTTI_EVENT_FIT_END, err);
    if (s || !training_owes_evaluations(t))
        return s;
    trainer_owe_no_evaluations(t);
    return training_stop_by_signal(t, err);
}

/* Whether the forward pass of a batch that does not count yet has been, or may have been. */
static bool is_inside_step(const trainer *t)
{
    switch (t->run.stage.event) {
    case TUTTI_EVENT_BEFORE_FORWARD:
    case TUTTI_EVENT_AFTER_FORWARD:
    case TUTTI_EVENT_BEFORE_LOSS:
    case TUTTI_EVENT_AFTER_LOSS:
    case TUTTI_EVENT_BEFORE_BACKWARD:
    case TUTTI_EVENT_AFTER_BACKWARD:
    case TUTTI_EVENT_AFTER_TRAIN_BATCH:
        return true;
    default:
        return false;
    }
}

/* Such as the running statistics of batch norm. */
static bool has_buffers(const net *n)
{
    for (uint32_t k = 0; k < net_weight_count(n); k++)
        if (!(net_weight(n, k)->flags & TUTTI_WEIGHT_TRAINABLE) && !net_frozen(n, k))
            return true;
    return false;
}

/* The operator does not wait for what is under way.  Weights are those after the last batch, for calls from an update to
 * the count of its batch are never left; buffers may have the batch under way. */
static tutti_status leave(trainer *t, tutti_error *err)
{
    tutti_error stopped = TUTTI_ERROR_INIT;
    t->run.log.units.muted = false;
    if (distributed_on(&t->distributed) && world_size(t->distributed.world) > 1)
        return tutti_fail(err, TUTTI_E_INTERRUPTED,
                          "stopped by signal %d after batch %lld; the call under way was left, "
                          "and nothing is saved: the other ranks have not stopped",
                          trainer_first_signal(), (long long)t->run.clock.now.batch);
    if (!t->run.stage.started)
        return training_stop_by_signal(t, err);
    if (is_inside_step(t) && t->run.net && has_buffers(t->run.net))
        return tutti_fail(
            err, TUTTI_E_INTERRUPTED,
            "stopped by signal %d after batch %lld; the call under way was left, and "
            "nothing is saved: the model's buffers have a part of the next batch",
            trainer_signal(), (long long)t->run.clock.now.batch);
    if (t->resume->ending)
        trainer_owe_no_evaluations(t);
    const tutti_status s = trainer_owe_evaluations(t, &stopped);
    return tutti_fail(err, s ? s : training_stop_by_signal(t, &stopped),
                      "%s; the call under way was left", stopped.text);
}

tutti_status trainer_fit(trainer *t, const fit_options *o, tutti_error *err)
{
    if (sigsetjmp(*trainer_escape(), 1))
        return leave(t, err);
    tutti_error cause = TUTTI_ERROR_INIT;
    world_forget_failure(t->distributed.world);
    t->run.file->distributed.told = false;
    const tutti_status s = fit(t, o, &cause);
    trainer_escape_end();
    training_over(t, s);
    return s ? tutti_fail(err, s, "%s", cause.text) : TUTTI_OK;
}

bool trainer_was_over(const trainer *t)
{
    return t->resume->over;
}
