/* run.c - what a call of run means: refused, a fresh start, a resume, or going on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop_internal.h"

/* Checks a limit that is given while the state has one, and puts it there. */
static tutti_status renew_limit(const char *name, const char *counter, int64_t given,
                                int64_t reached, int64_t *limit, tutti_error *err)
{
    if (*limit == TUTTI_LOOP_NONE || given == TUTTI_LOOP_NONE)
        return TUTTI_OK;
    if (given < reached)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s is %lld, and %s %lld has been reached: set %s of the state to "
                          "TUTTI_LOOP_NONE to start anew",
                          name, (long long)given, counter, (long long)reached, name);
    *limit = given;
    return TUTTI_OK;
}

static tutti_status check_limits(tutti_loop *l, const tutti_loop_run_args *a, tutti_error *err)
{
    tutti_loop_state *st = &l->state;
    const bool epochs = a->max_epochs != TUTTI_LOOP_NONE,
               iters = a->max_iters != TUTTI_LOOP_NONE;
    if (a->data && !a->data->next)
        return tutti_fail(err, TUTTI_E_ARG, "the data cannot be iterated: it has no next");
    if (epochs && iters)
        return tutti_fail(err, TUTTI_E_ARG, "max_epochs and max_iters exclude each other");
    if (iters && st->max_epochs != TUTTI_LOOP_NONE)
        return tutti_fail(err, TUTTI_E_ARG,
                          "the state counts max_epochs: set it to TUTTI_LOOP_NONE to run by "
                          "max_iters");
    if (epochs && st->max_iters != TUTTI_LOOP_NONE)
        return tutti_fail(err, TUTTI_E_ARG,
                          "the state counts max_iters: set it to TUTTI_LOOP_NONE to run by "
                          "max_epochs");
    if (epochs && a->max_epochs < 1)
        return tutti_fail(err, TUTTI_E_ARG, "max_epochs is %lld, want 1 or more",
                          (long long)a->max_epochs);
    if (iters && a->max_iters < 1)
        return tutti_fail(err, TUTTI_E_ARG, "max_iters is %lld, want 1 or more",
                          (long long)a->max_iters);
    const tutti_status s =
        renew_limit("max_epochs", "epoch", a->max_epochs, st->epoch, &st->max_epochs, err);
    return s ? s
             : renew_limit("max_iters", "iteration", a->max_iters, st->iteration,
                           &st->max_iters, err);
}

static tutti_status check_size(int64_t epoch_length, tutti_error *err)
{
    if (epoch_length != TUTTI_LOOP_NONE && epoch_length < 1)
        return tutti_fail(err, TUTTI_E_ARG, "an epoch has %lld batches, want 1 or more",
                          (long long)epoch_length);
    return TUTTI_OK;
}

static tutti_status no_length(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_ARG, "without data epoch_length must be given");
}

static void drop_suspended(tutti_loop *l)
{
    if (l->phase != PHASE_IDLE)
        l->source.open = false;
    l->phase = PHASE_IDLE;
}

static tutti_status start_anew(tutti_loop *l, const tutti_loop_run_args *a, tutti_error *err)
{
    tutti_loop_state *st = &l->state;
    int64_t length = a->epoch_length;
    if (!a->data && length == TUTTI_LOOP_NONE && st->epoch_length == TUTTI_LOOP_NONE)
        return no_length(err);
    if (length == TUTTI_LOOP_NONE && a->data)
        length = loop_data_length(a->data);
    if (length == TUTTI_LOOP_NONE)
        length = st->epoch_length;
    else
        l->source.discovered = false;
    const tutti_status s = check_size(length, err);
    if (s)
        return s;
    st->iteration = st->epoch = 0;
    st->max_iters = a->max_iters;
    st->max_epochs =
        a->max_epochs == TUTTI_LOOP_NONE && a->max_iters == TUTTI_LOOP_NONE ? 1 : a->max_epochs;
    st->epoch_length = length;
    drop_suspended(l);
    return TUTTI_OK;
}

static tutti_status resume(tutti_loop *l, const tutti_loop_run_args *a, tutti_error *err)
{
    tutti_loop_state *st = &l->state;
    int64_t length = a->epoch_length;
    if (st->epoch_length != TUTTI_LOOP_NONE) {
        if (length != TUTTI_LOOP_NONE && length != st->epoch_length)
            return tutti_fail(err, TUTTI_E_ARG,
                              "epoch_length is %lld, and the run that goes on has %lld",
                              (long long)length, (long long)st->epoch_length);
    } else {
        if (length == TUTTI_LOOP_NONE && a->data)
            length = loop_data_length(a->data);
        const tutti_status s = check_size(length, err);
        if (s)
            return s;
        st->epoch_length = length;
    }
    if (st->epoch_length == TUTTI_LOOP_NONE && !a->data)
        return no_length(err);
    if (atomic_load(&l->requests.terminate)) { /* the epoch that was cut is not made up for */
        l->counters.has_first = true;
        l->counters.first = 0;
    }
    return TUTTI_OK;
}

/* Of a run that a handler has freed of its limit, or whose state says so. */
static bool goes_on_without_limit(const tutti_loop *l, const tutti_loop_run_args *a)
{
    return (l->state.iteration > 0 || l->state.epoch > 0) && a->max_epochs == TUTTI_LOOP_NONE &&
           a->max_iters == TUTTI_LOOP_NONE;
}

/* `restarts`: a state at its limit begins from zero. */
static tutti_status run(tutti_loop *l, const tutti_loop_run_args *a, bool restarts,
                        tutti_error *err)
{
    tutti_error own = TUTTI_ERROR_INIT;
    tutti_error *e = err ? err : &own;
    const tutti_loop_state *st = &l->state;
    if (l->running)
        return tutti_fail(e, TUTTI_E_STATE, "the loop is running already");
    if (l->options.deterministic && !a->data)
        return tutti_fail(e, TUTTI_E_ARG, "a deterministic loop needs data");
    tutti_status s = check_limits(l, a, e);
    if (s)
        return s;
    const bool unlimited =
        st->max_epochs == TUTTI_LOOP_NONE && st->max_iters == TUTTI_LOOP_NONE;
    const bool anew = (unlimited && (restarts || !goes_on_without_limit(l, a))) ||
                      (restarts && l->phase == PHASE_IDLE && loop_done(l));
    s = anew ? start_anew(l, a, e) : resume(l, a, e);
    if (s)
        return s;
    if (!l->source.open)
        l->state.data = a->data;
    if (l->phase == PHASE_IDLE) {
        l->state.seed = a->seed;
        l->counters.open = l->counters.under_way = false; /* those of the run before */
        l->phase = PHASE_START;
    }
    l->running = true;
    loop_enter(l);
    s = loop_advance(l, e);
    loop_leave(l);
    l->running = false;
    return s;
}

tutti_status tutti_loop_run(tutti_loop *l, const tutti_loop_run_args *a, tutti_error *err)
{
    return run(l, a, true, err);
}

tutti_status tutti_loop_resume(tutti_loop *l, const tutti_loop_run_args *a, tutti_error *err)
{
    return run(l, a, false, err);
}
