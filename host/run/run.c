/* run.c - a loop's life: made, run to its limit, taken apart. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run.h"
#include "engine/handlers/function.h"
#include "run/run_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the process function ---- */

static tutti_status call_function(loop_run *l, tutti_error *err)
{
    bound_function *fn = &l->run->loop.process;
    tutti_error cause = TUTTI_ERROR_INIT;
    l->output = NAN;
    fn->engine = engine_service(l->engine);
    crash_breadcrumb.step = (uint64_t)trainer_time(l->trainer)->batch;
    double value = (double)NAN;
    l->processing = true;
    const tutti_status s = function_call(fn, 0, &value, &cause);
    l->processing = false;
    if (!isnan(value))
        l->output = value;
    if (s)
        return tutti_fail(err, s, "%s: %s", fn->name, cause.text);
    const tutti_named_value v = {"output", l->output};
    if (!isnan(l->output))
        training_log(l->trainer, &v, 1);
    return TUTTI_OK;
}

static tutti_status process(tutti_loop *loop, void *batch, void **ret_output, void *ctx,
                            tutti_error *err)
{
    loop_run *l = ctx;
    training_log_time(l->trainer, l->batch.tokens > 0, false);
    const tutti_status s =
        l->run->loop.supervised ? training_step(l->trainer, err) : call_function(l, err);
    if (s)
        return s;
    training_count_batch(l->trainer, &l->batch);
    l->fetched = false;
    *ret_output = &l->output;
    return TUTTI_OK;
}

const tutti_loop_state *loop_run_state(const loop_run *l)
{
    return tutti_loop_get_state(l->loop);
}

/* ---- making and running ---- */

static const void *answer(void *ctx, const char *interface_id)
{
    loop_run *l = ctx;
    return strcmp(interface_id, TUTTI_LOOP_V1) == 0 ? &l->service : NULL;
}

static void warn(void *ctx, const char *text)
{
    training_message(((loop_run *)ctx)->trainer, TUTTI_LOG_WARNING, "run", text);
}

tutti_status loop_run_create(run_file *run, trainer *t, registry *r, loop_run **ret_run,
                             tutti_error *err)
{
    loop_run *l = calloc(1, sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a run");
    *l = (loop_run){
        .run = run, .trainer = t, .engine = trainer_engine(t), .registry = r, .output = NAN};
    tutti_loop_options options = TUTTI_LOOP_OPTIONS_INIT;
    options.deterministic = run->loop.deterministic;
    options.process = process;
    options.warn = warn;
    options.process_ctx = options.warn_ctx = l;
    l->ranks.count = training_ranks(t);
    run_fill_data(l);
    run_fill_service(l);
    run_join_checkpoints(l);
    training_serve(t, answer, l);
    tutti_status s = tutti_loop_create(&options, &l->loop, err);
    if (!s)
        s = run_join_events(l, err);
    if (!s && !run->loop.supervised)
        s = function_open(&run->loop.process, engine_service(l->engine), err);
    s = training_agree(t, s, err);
    training_over(t, s);
    if (s)
        loop_run_destroy(l);
    else
        *ret_run = l;
    return s;
}

void loop_run_destroy(loop_run *l)
{
    if (!l)
        return;
    engine_count_by(l->engine, NULL, NULL);
    training_serve(l->trainer, NULL, NULL);
    training_on_checkpoint(l->trainer, NULL, NULL, NULL);
    tutti_loop_destroy(l->loop);
    free(l->dict);
    free(l->pending);
    free(l->kept.data);
    free(l);
}

bool loop_run_interrupted(const loop_run *l)
{
    return tutti_loop_interrupted(l->loop) != 0;
}

/* A resumed run that has reached its limit would start anew. */
static tutti_status check_limit(const loop_run *l, tutti_error *err)
{
    const tutti_loop_state *st = tutti_loop_get_state(l->loop);
    const bool reached = run_has_reached(l);
    if (!reached && training_has_ended(l->trainer))
        return tutti_fail(err, TUTTI_E_STATE,
                          "nothing is left to run: the run has come to its end after iteration "
                          "%lld; give a larger max_epochs or max_iters",
                          (long long)st->iteration);
    if (!reached || !training_is_over(l->trainer))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_STATE,
                      "nothing is left to run: %lld epochs and %lld iterations have passed; "
                      "give a larger max_epochs or max_iters",
                      (long long)run_epochs(l), (long long)st->iteration);
}

/* Takes up the state that a function has given; its limit is in force. */
static tutti_status go_back(loop_run *l, tutti_loop_run_args *args, tutti_error *err)
{
    const tutti_status s = tutti_loop_load_state_dict(l->loop, l->pending, err);
    free(l->pending);
    l->pending = NULL;
    l->pass = -1;
    l->placed = l->found = l->taken_up = false;
    l->kept.limits = l->kept.length = true;
    training_log_anew(l->trainer);
    memset(l->ranks.asked, 0, sizeof l->ranks.asked); /* of the loop that has ended */
    memset(l->kept.requests, 0, sizeof l->kept.requests);
    args->max_epochs = args->max_iters = args->epoch_length = TUTTI_LOOP_NONE;
    return s;
}

static tutti_status go(loop_run *l, const char *resume, bool accept_bits, tutti_error *err)
{
    tutti_status s = training_begin(l->trainer, resume, accept_bits, err);
    if (!s)
        run_place_older(l);
    tutti_loop_run_args args = run_limits(l);
    if (s || (s = training_agree(l->trainer, check_limit(l, err), err)) ||
        (s = training_plan(l->trainer, err)))
        return s;
    training_stop_again(l->trainer);
    args.data = training_batches(l->trainer) < 0 && !l->kept.data ? NULL : &l->data;
    if (!l->pending) /* else a checkpoint has it, which was written before the loop left off */
        s = tutti_loop_resume(l->loop, &args, err);
    while (!s && l->pending && !trainer_signal() && !(s = go_back(l, &args, err)))
        s = tutti_loop_run(l->loop, &args, err);
    l->asked = trainer_signal() || tutti_loop_interrupted(l->loop);
    if (trainer_signal()) {
        tutti_error stopped = TUTTI_ERROR_INIT;
        s = training_stop_by_signal(l->trainer, &stopped);
        *err = stopped;
    } else if (!s && tutti_loop_interrupted(l->loop)) {
        s = trainer_time(l->trainer)->batch > 0 ? training_save(l->trainer, err) : TUTTI_OK;
    } else if (!s) {
        s = training_check(l->trainer, err);
    }
    return s;
}

tutti_status loop_run_go(loop_run *l, const char *resume, bool accept_bits, tutti_error *err)
{
    const tutti_status s = go(l, resume, accept_bits, err);
    training_over(l->trainer, s);
    return s;
}
