/* fit.c - Composer's training loop, every event in its place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer_state.h"

#include <stddef.h>
#include <string.h>

/* Tokens of the whole batch as it is now. */
static int64_t batch_tokens(trainer *t)
{
    const slot *input =
        source_has_tokens(&t->train) ? batch_find(&t->tensors.whole, "input") : NULL;
    return input ? tutti_numel(&input->now.desc) : 0;
}

/* Nanoseconds since the last call, evaluations left out. */
static int64_t lap(trainer *t)
{
    const int64_t now = now_ns(), passed = now - t->run.clock.lap_ns;
    t->run.clock.lap_ns = now;
    return passed;
}

/* The counters; those of tokens only where there are any, the epoch only at the end. */
static void log_time(trainer *t, bool tokens, bool end)
{
    const tutti_named_value v[] = {
        {"time/batch", (double)t->run.clock.now.batch},
        {"time/sample", (double)t->run.clock.now.sample},
        {"time/batch_in_epoch", (double)t->run.clock.now.batch_in_epoch},
        {"time/sample_in_epoch", (double)t->run.clock.now.sample_in_epoch},
        {"time/token", (double)t->run.clock.now.token},
        {"time/token_in_epoch", (double)t->run.clock.now.token_in_epoch},
    };
    const tutti_named_value epoch = {"time/epoch", (double)t->run.clock.now.epoch};
    if (end)
        run_log_metrics(&t->run.log, &epoch, 1);
    run_log_metrics(&t->run.log, v, tokens ? 6 : 4);
}

/* Which order of the data this pass takes: iterations counted in tokens begin the data anew. */
static int64_t data_epoch(const trainer *t)
{
    const bool by_tokens = t->run.file->iteration_length.unit == TUTTI_UNIT_TOKEN;
    return t->run.clock.now.epoch + (by_tokens ? t->run.clock.now.iteration : 0);
}

static tutti_status seek(trainer *t, tutti_error *err)
{
    return source_seek(&t->train, data_epoch(t), t->run.clock.now.batch_in_epoch, err);
}

static bool iteration_over(const trainer *t, int32_t unit)
{
    const tutti_time length = t->run.file->iteration_length;
    const int64_t here = unit == TUTTI_UNIT_TOKEN ? t->run.clock.now.token_in_iteration
                                                  : t->run.clock.now.epoch_in_iteration;
    return length.unit == unit && here >= length.count;
}

static tutti_status end_iteration(trainer *t, tutti_error *err)
{
    t->run.clock.previous = t->run.clock.now;
    t->run.clock.has_previous = true;
    timestamp_next_iteration(&t->run.clock.now);
    const tutti_status s = trainer_event(t, TUTTI_EVENT_ITERATION_END, err);
    return s ? s : trainer_event(t, TUTTI_EVENT_ITERATION_CHECKPOINT, err);
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
    t->tensors.phase = PHASE_BATCH;
    t->run.step.step = (uint64_t)t->run.clock.now.batch;
    const int64_t tokens = batch_tokens(t);
    if ((s = trainer_event(t, TUTTI_EVENT_AFTER_DATALOADER, err)) ||
        (s = trainer_event(t, TUTTI_EVENT_BATCH_START, err)))
        return s;
    log_time(t, tokens > 0, false);
    if ((s = trainer_step_batch(t, err)))
        return s;
    t->run.clock.previous = t->run.clock.now;
    t->run.clock.has_previous = true;
    timestamp_next_batch(&t->run.clock.now, samples, tokens, lap(t));
    if ((s = trainer_event(t, TUTTI_EVENT_BATCH_END, err)) ||
        (s = trainer_evaluate_due(t, TUTTI_EVENT_BATCH_END, err)))
        return s;
    t->tensors.phase = PHASE_IDLE;
    t->tensors.noutputs = 0;
    t->tensors.loss.now.data = NULL;
    return trainer_event(t, TUTTI_EVENT_BATCH_CHECKPOINT, err);
}

static tutti_status end_epoch(trainer *t, tutti_error *err)
{
    tutti_status s = async_flush(&t->async, err);
    if (s)
        return s;
    metric_set_log(&t->run.log, &t->train.metrics, "train", (uint64_t)t->run.clock.now.batch);
    s = t->run.file->step_schedulers_every_batch ? TUTTI_OK
                                                 : updater_schedule(&t->updater, err);
    if (s)
        return s;
    timestamp_next_epoch(&t->run.clock.now, lap(t));
    s = trainer_event(t, TUTTI_EVENT_EPOCH_END, err);
    if (s || (s = net_commit(t->run.net, err)) ||
        (s = updater_fit(&t->updater, err)) || /* of frozen layers */
        (s = trainer_evaluate_due(t, TUTTI_EVENT_EPOCH_END, err)))
        return s;
    return trainer_event(t, TUTTI_EVENT_EPOCH_CHECKPOINT, err);
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
        const tutti_named_value v = {"time/epoch", (double)t->run.clock.now.epoch};
        run_log_metrics(&t->run.log, &v, 1);
    }
    while (s == TUTTI_OK && !end && !early) {
        s = batch_of_epoch(t, &end, err);
        if (s == TUTTI_OK && !end && iteration_over(t, TUTTI_UNIT_TOKEN)) {
            if ((s = end_iteration(t, err)))
                return s;
            return seek(t, err);
        }
        early = !end && trainer_done(t);
    }
    if (s)
        return s;
    if (trainer_signal() && t->run.clock.now.batch_in_epoch != loader_batches(t->train.loader))
        return TUTTI_OK; /* stopped in the middle: the epoch goes on after a resume */
    if (early && t->run.clock.now.batch_in_epoch != loader_batches(t->train.loader))
        return TUTTI_OK;
    s = end_epoch(t, err);
    return s == TUTTI_OK && iteration_over(t, TUTTI_UNIT_EPOCH) ? end_iteration(t, err) : s;
}

/* The plan of a training kind for microbatches of the present size. */
static tutti_status plan_kind(trainer *t, int kind, tutti_error *err)
{
    uint32_t n;
    const tutti_column *columns = loader_columns(t->train.loader, &n);
    batch shape;
    memset(&shape, 0, sizeof shape);
    shape.ncolumns = n;
    for (uint32_t k = 0; k < n; k++) {
        tutti_desc d = columns[k].desc;
        memmove(&d.dim[1], &d.dim[0], (size_t)d.rank * sizeof d.dim[0]);
        d.dim[0] = t->tensors.microbatch_size;
        d.rank++;
        memcpy(shape.columns[k].name, columns[k].name, sizeof shape.columns[k].name);
        shape.columns[k].now.desc = d;
    }
    plan_request request;
    plan *p;
    tutti_status s = trainer_request(t, kind, &shape, &request, err);
    if (!s)
        s = net_plan(t->run.net, &request, &p, err);
    context_tune_message(&t->run);
    return s;
}

/* The training plans, so that one too large for this machine is refused, or made smaller, before
 * any step. */
static tutti_status plan_ahead(trainer *t, tutti_error *err)
{
    tutti_status s;
    do {
        s = plan_kind(t, PLAN_TRAIN, err);
        if (s == TUTTI_OK && t->tensors.microbatch_size < t->train.spec->batch_size)
            s = plan_kind(t, PLAN_TRAIN_ADD, err);
    } while (s == TUTTI_E_NOMEM && trainer_halve(t, err));
    return s;
}

/* A caught signal: what is not saved yet is saved by the run's saver. */
static tutti_status stop_by_signal(trainer *t, tutti_error *err)
{
    void *self;
    const tutti_saver_v1 *saver = trainer_saver(t, &self);
    if (saver && TUTTI_HAS(saver, tutti_saver_v1, save) && saver->save) {
        const tutti_status s = saver->save(self, err);
        if (s)
            return s;
    }
    return tutti_fail(err, TUTTI_E_INTERRUPTED, "stopped by signal %d after batch %lld%s",
                      trainer_signal(), (long long)t->run.clock.now.batch,
                      saver ? ", which is saved"
                            : "; no checkpoint_saver, so nothing is saved");
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
    t->run.clock.max_duration = t->run.clock.planned;
    t->run.clock.stopped = false;
    if (!trainer_finished(t))
        return TUTTI_OK;
    const tutti_time here = {tutti_timestamp_get(&t->run.clock.now, t->run.clock.planned.unit),
                             0.0, t->run.clock.planned.unit, 0};
    return tutti_fail(err, TUTTI_E_STATE,
                      "nothing is left to train: max_duration is %s and %s have passed; give a "
                      "longer max_duration, a duration, or reset the time",
                      duration_text(t->run.clock.planned, max, sizeof max),
                      duration_text(here, now, sizeof now));
}

tutti_status trainer_fit(trainer *t, const fit_options *o, tutti_error *err)
{
    t->fits = true;
    tutti_status s = t->begun ? TUTTI_OK : trainer_begin(t, o->resume, err);
    if (s || (s = set_duration(t, o, err)) || (s = plan_ahead(t, err)) || (s = seek(t, err)) ||
        (s = trainer_event(t, TUTTI_EVENT_FIT_START, err)))
        return s;
    t->run.clock.lap_ns = now_ns();
    while (s == TUTTI_OK && !trainer_done(t))
        s = epoch(t, err);
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
        return stop_by_signal(t, err);
    log_time(t, t->run.clock.now.token > 0, true);
    if ((s = trainer_event(t, TUTTI_EVENT_FIT_END, err)))
        return s;
    return trainer_evaluate_due(t, TUTTI_EVENT_FIT_END, err);
}
