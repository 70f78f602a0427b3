/* training_loop.c - the pieces of a training loop: what a run does between its events. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/training_loop.h"

#include "base/monotonic.h"
#include "train/checkpoint/reproduction.h"
#include "train/checkpoint/resume.h"
#include "train/checkpoint/saver.h"
#include "train/ranks/rank_calls.h"
#include "train/record/record.h"
#include "train/step/device_report.h"
#include "train/step/plan_step.h"
#include "train/step/train_step.h"
#include "train/step/trainer_events.h"
#include "train/step/trainer_state.h"
#include "train/trainer/begin.h"
#include "train/trainer/evaluate.h"
#include "train/trainer/trainer.h"
#include "train/update/optimizer_shards.h"
#include "train/update/optimizer_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tokens of the whole batch as it is now. */
static int64_t batch_tokens(trainer *t)
{
    const slot *input =
        source_has_tokens(&t->train) ? batch_find(&t->tensors.whole, "input") : NULL;
    return input ? tutti_numel(&input->now.desc) : 0;
}

/* Nanoseconds since the last call, evaluations left out; of several ranks that train rank 0's, so that clocks agree. */
static int64_t lap(trainer *t)
{
    if (distributed_on(&t->distributed) && t->run.net) {
        const int64_t first = t->distributed.lap_ns;
        t->distributed.lap_ns = 0;
        return first;
    }
    const int64_t now = monotonic_ns(), passed = now - t->run.clock.lap_ns;
    t->run.clock.lap_ns = now;
    return passed;
}

/* ---- before the first event ---- */

tutti_status training_begin(trainer *t, const char *resume, bool accept_bits, tutti_error *err)
{
    t->run.stage.fits = true;
    t->resume->accept_bits = accept_bits;
    return t->run.stage.begun ? TUTTI_OK : trainer_begin(t, resume, err);
}

/* The plan, the net's, of a training kind for microbatches of the present size. */
static tutti_status plan_kind(trainer *t, int kind, plan **ret, tutti_error *err)
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
    tutti_status s = trainer_request(t, kind, &shape, &request, err);
    if (!s)
        s = net_plan(t->run.net, &request, ret, err);
    context_tune_message(&t->run);
    if (!s && kind == PLAN_TRAIN)
        device_report_plan(t, *ret);
    return s;
}

static void tell_sharding(trainer *t)
{
    char text[120];
    const updater *u = &t->updater;
    if (!u->world || !distributed_first(&t->distributed))
        return;
    (void)snprintf(text, sizeof text, "%llu of %llu bytes of optimizer state are on this rank",
                   (unsigned long long)optimizer_shards_bytes(u),
                   (unsigned long long)state_bytes(u));
    run_log_message(&t->run.log, TUTTI_LOG_INFO, "distributed", text);
}

/* Rank 0 measures kernels, the others take its choices. */
static tutti_status plan_for_ranks(trainer *t, plan **ret, tutti_error *err)
{
    const bool first = distributed_first(&t->distributed);
    tutti_status s = first ? plan_kind(t, PLAN_TRAIN, ret, err) : TUTTI_OK;
    s = distributed_share_choices(&t->distributed, s, err);
    if (!s && !first)
        s = plan_kind(t, PLAN_TRAIN, ret, err);
    if (!s && t->resume->same)
        s = reproduction_confirm(&t->run, t->resume->accept_bits, err);
    tell_sharding(t);
    return distributed_agree(&t->distributed, s, err);
}

static tutti_status plan_alone(trainer *t, plan **ret, tutti_error *err)
{
    tutti_status s;
    plan *adds;
    do {
        s = plan_kind(t, PLAN_TRAIN, ret, err);
        if (s == TUTTI_OK && t->tensors.microbatch_size < t->train.spec->batch_size)
            s = plan_kind(t, PLAN_TRAIN_ADD, &adds, err);
    } while (s == TUTTI_E_NOMEM && trainer_halve(t, err));
    return s || !t->resume->same ? s
                                 : reproduction_confirm(&t->run, t->resume->accept_bits, err);
}

tutti_status training_plan(trainer *t, tutti_error *err)
{
    plan *p = NULL;
    const tutti_status s = !t->run.net                       ? TUTTI_OK
                           : distributed_on(&t->distributed) ? plan_for_ranks(t, &p, err)
                                                             : plan_alone(t, &p, err);
    if (s)
        return s;
    record_plan(t, p);
    observers_go_on(&t->observers, &t->run);
    return TUTTI_OK;
}

/* ---- for a loop of its own ---- */

void training_serve(trainer *t, const void *(*answer)(void *ctx, const char *interface_id),
                    void *ctx)
{
    t->hooks.answer = answer;
    t->hooks.ctx = ctx;
}

void training_on_checkpoint(trainer *t,
                            tutti_status (*save)(void *ctx, char **ret_text, tutti_error *err),
                            tutti_status (*load)(void *ctx, const char *path, const char *text,
                                                 tutti_error *err),
                            void *ctx)
{
    t->hooks.save = save;
    t->hooks.load = load;
    t->hooks.ctx = ctx;
}

tutti_status training_event(trainer *t, int32_t event, tutti_error *err)
{
    return trainer_event(t, event, err);
}

bool training_is_stopped(const trainer *t)
{
    return t->run.clock.stopped;
}

void training_log(trainer *t, const tutti_named_value *values, uint32_t n)
{
    run_log_metrics(&t->run.log, values, n);
}

void training_restore_value(trainer *t, const tutti_named_value *value)
{
    run_log_restore(
        &t->run.log, value->name,
        &(logged_value){.value = value->value, .least = value->value, .most = value->value});
}

static void log_epoch(trainer *t)
{
    const tutti_named_value v = {"time/epoch", (double)t->run.clock.now.epoch};
    run_log_metrics(&t->run.log, &v, 1);
}

void training_log_epoch(trainer *t)
{
    if (!run_log_has(&t->run.log, "time/epoch", (double)t->run.clock.now.epoch))
        log_epoch(t);
}

void training_log_anew(trainer *t)
{
    run_log_forget_restored(&t->run.log);
}

void training_log_time(trainer *t, bool tokens, bool end)
{
    const tutti_timestamp *now = &t->run.clock.now;
    const tutti_named_value v[] = {
        {"time/batch", (double)now->batch},
        {"time/sample", (double)now->sample},
        {"time/batch_in_epoch", (double)now->batch_in_epoch},
        {"time/sample_in_epoch", (double)now->sample_in_epoch},
        {"time/token", (double)now->token},
        {"time/token_in_epoch", (double)now->token_in_epoch},
    };
    if (end)
        log_epoch(t);
    if (end || !run_log_has(&t->run.log, v[0].name, v[0].value))
        run_log_metrics(&t->run.log, v, tokens ? 6 : 4);
}

void training_message(trainer *t, int level, const char *component, const char *text)
{
    run_log_message(&t->run.log, level, component, text);
}

/* ---- batches and epochs ---- */

int64_t training_batches(const trainer *t)
{
    return source_batches(&t->train);
}

tutti_status training_seek(trainer *t, int64_t pass, int64_t number, tutti_error *err)
{
    return source_seek(t->hooks.data ? t->hooks.data : &t->train, pass, number, err);
}

tutti_status training_next(trainer *t, int64_t *ret_samples, tutti_error *err)
{
    data_source *data = t->hooks.data ? t->hooks.data : &t->train;
    return source_next(data, &t->mirrors, &t->tensors.whole, ret_samples, err);
}

static tutti_status find_evaluation(trainer *t, const char *label, size_t *ret_number,
                                    tutti_error *err)
{
    for (size_t k = 0; k < t->nevals; k++)
        if (strcmp(t->evals[k].spec->label, label) == 0) {
            *ret_number = k;
            return TUTTI_OK;
        }
    return tutti_fail(err, TUTTI_E_NOTFOUND, "the run has no evaluation %s", label);
}

tutti_status training_use_data(trainer *t, const char *label, tutti_error *err)
{
    size_t k = 0;
    if (t->train.loader && strcmp(label, "train") == 0) {
        t->hooks.data = NULL;
        return TUTTI_OK;
    }
    const tutti_status s = find_evaluation(t, label, &k, err);
    if (!s)
        t->hooks.data = &t->evals[k];
    return s;
}

tutti_status training_evaluate(trainer *t, const char *label, tutti_error *err)
{
    size_t k = 0;
    const tutti_status s = find_evaluation(t, label, &k, err);
    return s ? s : trainer_evaluate_now(t, k, err);
}

bool training_owes_evaluations(const trainer *t)
{
    return trainer_signal() && trainer_owes_evaluations(t);
}

tutti_status training_evaluate_owed(trainer *t, tutti_error *err)
{
    if (t->run.clock.now.batch == 0) { /* a checkpoint was loaded without its clock */
        trainer_owe_no_evaluations(t);
        engine_hold(t->run.engine, -1);
        t->resume->left = t->resume->iteration_left = t->resume->some_evaluated = false;
        log_units_fini(&t->run.log.units);
    }
    if (!trainer_owes_evaluations(t) && engine_held(t->run.engine) < 0)
        return TUTTI_OK;
    const tutti_status s = trainer_evaluate_owed(t, err);
    if (s || training_owes_evaluations(t))
        return s;
    t->resume->left = true;
    return engine_run_held(t->run.engine, err);
}

tutti_status training_save_owed(trainer *t, tutti_error *err)
{
    if (training_owes_evaluations(t))
        return TUTTI_OK;
    const int32_t event = t->resume->iteration_left         ? TUTTI_EVENT_ITERATION_CHECKPOINT
                          : !t->resume->left                ? -1
                          : t->run.clock.now.batch_in_epoch ? TUTTI_EVENT_BATCH_CHECKPOINT
                                                            : TUTTI_EVENT_EPOCH_CHECKPOINT;
    t->resume->left = t->resume->iteration_left = false;
    return event < 0 ? TUTTI_OK : trainer_event(t, event, err);
}

void training_begin_batch(trainer *t, int64_t samples, training_batch *ret_batch)
{
    t->tensors.phase = PHASE_BATCH;
    t->tensors.micro.samples = 0; /* none of this batch yet */
    t->plans.described = NULL;
    t->run.step.step = (uint64_t)t->run.clock.now.batch;
    *ret_batch = (training_batch){samples, batch_tokens(t)};
}

void training_start_clock(trainer *t)
{
    t->run.clock.lap_ns = monotonic_ns();
}

tutti_status training_step(trainer *t, tutti_error *err)
{
    return trainer_step_batch(t, err);
}

double training_loss(trainer *t)
{
    tutti_error ignored = TUTTI_ERROR_INIT;
    const double *loss = async_flush(&t->async, &ignored)
                             ? NULL
                             : run_log_value(&t->run.log, "loss/train/total");
    return loss ? *loss : (double)NAN;
}

void training_count_batch(trainer *t, const training_batch *b)
{
    t->run.clock.previous = t->run.clock.now;
    t->run.clock.has_previous = true;
    timestamp_next_batch(&t->run.clock.now, b->samples, b->tokens, lap(t));
    crash_breadcrumb.whole = false; /* since the update, trainer_step_batch */
    observers_close_unit(&t->observers, TRACE_BATCH);
}

void training_end_batch(trainer *t)
{
    tensors_end_batch(&t->tensors);
}

tutti_status training_end_epoch(trainer *t, tutti_error *err)
{
    tutti_status s = async_flush(&t->async, err);
    if (s)
        return s;
    crash_breadcrumb.whole = true; /* metrics and schedules are of the epoch that ends */
    metric_set_log(&t->run.log, &t->train.metrics, "train", (uint64_t)t->run.clock.now.batch);
    s = t->run.file->schedules.every_batch ? TUTTI_OK : updater_schedule(&t->updater, err);
    crash_breadcrumb.whole = false;
    if (s)
        return s;
    t->run.clock.previous = t->run.clock.now;
    timestamp_next_epoch(&t->run.clock.now, lap(t));
    observers_close_unit(&t->observers, TRACE_BATCH);
    return TUTTI_OK;
}

tutti_status training_flush(trainer *t, tutti_error *err)
{
    return async_flush(&t->async, err);
}

tutti_status training_gather(trainer *t, tutti_error *err)
{
    const tutti_status s = async_flush(&t->async, err);
    return s || !t->run.net ? s : weights_gather_all(&t->distributed.gradients.weights, err);
}

tutti_status training_check(trainer *t, tutti_error *err)
{
    const tutti_status s = training_gather(t, err);
    if (s || !t->run.net)
        return s;
    guard_last_updates(&t->guard);
    return guard_weights(&t->guard, err);
}

tutti_status training_refit(trainer *t, tutti_error *err)
{
    const tutti_status s = !t->run.net || !net_is_changed(t->run.net)
                               ? TUTTI_OK
                               : weights_gather_all(&t->distributed.gradients.weights, err);
    return s ? s : updater_refit(&t->updater, err);
}

tutti_status training_save(trainer *t, tutti_error *err)
{
    saver v;
    bool can;
    if (saver_find(&t->run, &v)) { /* the batch, if one is under way, with its evaluations */
        observers_take_back(&t->observers, &t->run, TRACE_BATCH);
        observers_take_back(&t->observers, &t->run, TRACE_EVALUATION);
    }
    return saver_save(&t->run, &can, err);
}

tutti_status training_stop_by_signal(trainer *t, tutti_error *err)
{
    saver v;
    if (!t->run.stage.started || t->run.clock.now.batch == 0)
        return tutti_fail(
            err, TUTTI_E_INTERRUPTED,
            "stopped by signal %d before %s batch was trained, so nothing is to be saved",
            trainer_signal(), t->run.clock.now.batch > 0 ? "another" : "a");
    const bool saves = saver_find(&t->run, &v);
    const tutti_status s = training_save(t, err);
    return s ? s
             : tutti_fail(err, TUTTI_E_INTERRUPTED, "stopped by signal %d after batch %lld%s",
                          trainer_signal(), (long long)t->run.clock.now.batch,
                          saves ? ", which is saved"
                                : "; no checkpoint_saver, so nothing is saved");
}

tutti_status training_save_asked(trainer *t, tutti_error *err)
{
    bool can;
    if (!trainer_save_asked())
        return TUTTI_OK;
    const tutti_status s = saver_save(&t->run, &can, err);
    if (!can)
        run_log_message(
            &t->run.log, TUTTI_LOG_WARNING, "train",
            "a signal asks for a checkpoint; no checkpoint_saver, so nothing is saved");
    return s;
}

void training_stop_again(trainer *t)
{
    if (!t->resume->stopped)
        return;
    clock_stop(&t->run.clock);
    run_log_message(&t->run.log, TUTTI_LOG_INFO, "train",
                    "training was stopped before the checkpoint; what is left is its end");
}

bool training_is_midway(const trainer *t)
{
    return t->resume->midway;
}

bool training_has_ended(trainer *t)
{
    t->resume->over = t->resume->ended;
    return t->resume->over;
}

bool training_is_over(trainer *t)
{
    t->resume->over = !t->resume->unended && !trainer_owes_evaluations(t);
    return t->resume->over;
}

void training_over(trainer *t, tutti_status status)
{
    t->run.stage.failed = status && status != TUTTI_E_INTERRUPTED;
    if (!t->resume->over) /* what was refused is refused again */
        t->resume->unended = t->resume->ended = t->resume->midway = t->resume->stopped = false;
}

/* ---- several ranks ---- */

int32_t training_ranks(const trainer *t)
{
    return distributed_on(&t->distributed) ? world_size(t->distributed.world) : 0;
}

tutti_status training_exchange(trainer *t, int32_t event, const void *mine, void *all,
                               uint64_t bytes, tutti_error *err)
{
    const call_header header = {.kind = LOOP_EVENT, .op = event};
    call_frame *frames = NULL;
    world *w = t->distributed.world;
    world_tell(w, (uint64_t)t->run.clock.now.batch, event_name(event));
    const tutti_status s = call_meet(w, &header, mine, bytes, &frames, err);
    for (int32_t r = 0; !s && r < world_size(w); r++)
        memcpy((char *)all + (uint64_t)r * bytes, frames[r].data, bytes);
    free(frames);
    return s;
}

tutti_status training_agree(trainer *t, tutti_status status, tutti_error *err)
{
    return distributed_agree(&t->distributed, status, err);
}
