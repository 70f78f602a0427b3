/* machine.c - the states of a run, one step each, so that an interrupted one can go on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop_internal.h"

#include "base/monotonic.h"

/* How a step ends beside an error's status, which is negative. */
enum { GO_ON, CUT_RUN = 16, CUT_EPOCH, SUSPEND };

static bool reached(int64_t length, int64_t epochs, int64_t iteration)
{
    int64_t total;
    return !__builtin_mul_overflow(length, epochs, &total) && iteration >= total;
}

/* The limit in epochs.  By max_iters over data whose end has shown how long it is, as many as would
 * do if every one gave that much. */
static int64_t epoch_limit(const tutti_loop *l)
{
    const tutti_loop_state *st = &l->state;
    if (st->max_epochs != TUTTI_LOOP_NONE || !l->source.discovered ||
        st->max_iters == TUTTI_LOOP_NONE)
        return st->max_epochs;
    return st->epoch_length > 0 ? (st->max_iters - 1) / st->epoch_length + 1 : 0;
}

bool loop_done(const tutti_loop *l)
{
    const tutti_loop_state *st = &l->state;
    const int64_t epochs = epoch_limit(l);
    if (st->max_iters != TUTTI_LOOP_NONE && st->iteration >= st->max_iters)
        return true;
    if (epochs == TUTTI_LOOP_NONE)
        return false;
    return st->epoch >= epochs || (st->epoch_length != TUTTI_LOOP_NONE &&
                                   reached(st->epoch_length, epochs, st->iteration));
}

/* ---- events and what their handlers asked for ---- */

static tutti_status take_signal(tutti_loop *l, tutti_error *err)
{
    const int number = atomic_exchange(&l->requests.signal, 0);
    if (number)
        return tutti_fail(err, TUTTI_E_INTERRUPTED, "stopped by signal %d", number);
    return TUTTI_OK;
}

/* Positive results but TUTTI_LOOP_END mean something in here only. */
static tutti_status check_status(tutti_status s, const char *who, tutti_error *err)
{
    if (s <= TUTTI_LOOP_END)
        return s;
    return tutti_fail(err, TUTTI_E_FAIL, "%s returned %d, want 0 or a negative status", who,
                      (int)s);
}

static tutti_status fire_with(tutti_loop *l, const tutti_loop_firing *firing, tutti_error *err)
{
    l->stopped = firing->event == TUTTI_EVENT_DATALOADER_STOP_ITERATION;
    const tutti_status s = loop_fire(l, firing, err);
    return s ? check_status(s, tutti_loop_event_name(l, firing->event), err)
             : take_signal(l, err);
}

static tutti_status fire(tutti_loop *l, int32_t event, tutti_error *err)
{
    const tutti_loop_firing firing = {.event = event};
    return fire_with(l, &firing, err);
}

static tutti_status check(tutti_loop *l, tutti_error *err)
{
    if (atomic_load(&l->requests.terminate))
        return CUT_RUN;
    if (atomic_load(&l->requests.terminate_epoch))
        return CUT_EPOCH;
    if (!atomic_load(&l->requests.interrupt))
        return GO_ON;
    const tutti_status s = fire(l, TUTTI_EVENT_INTERRUPT, err);
    if (s)
        return s;
    atomic_store(&l->requests.interrupt, FLAG_NO);
    return SUSPEND;
}

/* Fires `event`; what comes then is `next`, at once or after an interrupt. */
static tutti_status fire_checked(tutti_loop *l, int32_t event, phase next, tutti_error *err)
{
    const tutti_status s = fire(l, event, err);
    if (s)
        return s;
    l->phase = next;
    return check(l, err);
}

/* ---- the steps outside of an epoch's iterations ---- */

static tutti_status step_start(tutti_loop *l, tutti_error *err)
{
    atomic_store(&l->requests.terminate, FLAG_NO);
    atomic_store(&l->requests.terminate_epoch, FLAG_NO);
    atomic_store(&l->requests.interrupt, FLAG_NO);
    l->state.epoch_seconds = l->state.total_seconds = 0.0;
    if (l->options.deterministic && l->state.seed == TUTTI_LOOP_NONE)
        l->state.seed = (int64_t)(tutti_loop_random(l) % 1000000000u);
    l->source.starved = false;
    l->clocks.run = monotonic_s();
    return fire_checked(l, TUTTI_EVENT_STARTED, PHASE_NEXT_EPOCH, err);
}

/* iter_counter at which the next epoch starts: a state that was loaded goes on within one. */
static int64_t first_counter(const tutti_loop *l)
{
    const int64_t length = l->state.epoch_length, iteration = l->state.iteration;
    if (l->counters.has_first)
        return l->counters.first;
    if (l->source.open)
        return 0;
    return length > 0 ? iteration % length : iteration;
}

static tutti_status step_next_epoch(tutti_loop *l, tutti_error *err)
{
    if (loop_done(l) || l->source.starved || atomic_load(&l->requests.terminate)) {
        l->phase = PHASE_FINISH;
        return GO_ON;
    }
    l->state.epoch++;
    l->counters.open = true;
    l->counters.iter_counter = first_counter(l);
    const double began = monotonic_s();
    const tutti_status s = fire(l, TUTTI_EVENT_EPOCH_STARTED, err);
    l->clocks.handlers = monotonic_s() - began;
    if (s)
        return s;
    l->phase = PHASE_OPEN_DATA;
    return check(l, err);
}

static tutti_status step_open_data(tutti_loop *l, tutti_error *err)
{
    const int64_t first = first_counter(l);
    const tutti_status s = l->source.open ? TUTTI_OK : loop_data_open(l, err);
    if (s)
        return s;
    l->counters.iter_counter = first;
    l->counters.has_first = false;
    l->source.exhausted = false;
    l->counters.iterations = 0;
    l->clocks.epoch = monotonic_s();
    l->phase = PHASE_ASK_BATCH;
    return GO_ON;
}

static tutti_status step_epoch_over(tutti_loop *l, tutti_error *err)
{
    double seconds = l->clocks.handlers + monotonic_s() - l->clocks.epoch;
    l->state.epoch_seconds = seconds;
    l->counters.open = l->counters.under_way = false;
    if (atomic_load(&l->requests.terminate_epoch) != FLAG_SKIP) {
        const double began = monotonic_s();
        const tutti_status s = fire(l, TUTTI_EVENT_EPOCH_COMPLETED, err);
        if (s)
            return s;
        seconds += monotonic_s() - began;
        l->state.epoch_seconds = seconds;
    }
    atomic_store(&l->requests.terminate_epoch, FLAG_NO);
    l->phase = PHASE_NEXT_EPOCH;
    return check(l, err);
}

static tutti_status step_finish(tutti_loop *l, tutti_error *err)
{
    l->state.total_seconds = monotonic_s() - l->clocks.run;
    if (atomic_load(&l->requests.terminate) != FLAG_SKIP) {
        const double began = monotonic_s();
        const tutti_status s = fire(l, TUTTI_EVENT_COMPLETED, err);
        if (s)
            return s;
        l->state.total_seconds += monotonic_s() - began;
    }
    l->source.open = false;
    l->phase = PHASE_IDLE;
    return GO_ON;
}

/* ---- the steps of an iteration ---- */

static tutti_status step_ask_batch(tutti_loop *l, tutti_error *err)
{
    l->state.batch = NULL;
    l->phase = PHASE_FETCH;
    if (l->stopped || !l->state.data) /* it was asked for before the data ended */
        return GO_ON;
    return fire_checked(l, TUTTI_EVENT_GET_BATCH_STARTED, PHASE_FETCH, err);
}

static tutti_status step_fetch(tutti_loop *l, tutti_error *err)
{
    const tutti_status s = loop_data_next(l, err);
    if (s)
        return s;
    l->state.output = NULL;
    if (l->state.data)
        return fire_checked(l, TUTTI_EVENT_GET_BATCH_COMPLETED, PHASE_FETCHED, err);
    l->phase = PHASE_FETCHED;
    return GO_ON;
}

/* The data ended, or a handler around the fetch says so. */
static tutti_status end_of_data(tutti_loop *l, tutti_error *err)
{
    tutti_loop_state *st = &l->state;
    if (st->epoch_length == TUTTI_LOOP_NONE) {
        st->epoch_length = l->counters.iter_counter;
        l->source.discovered = true;
        l->phase = PHASE_EPOCH_OVER;
        return GO_ON;
    }
    if (l->source.exhausted) {
        if (!loop_done(l))
            loop_warn(l,
                      "the data gives nothing more at iteration %lld, before the run's limit",
                      (long long)st->iteration);
        /* By iterations alone, empty epochs would never end. */
        l->source.starved = l->counters.iterations == 0 && epoch_limit(l) == TUTTI_LOOP_NONE;
        l->phase = PHASE_EPOCH_OVER;
        return GO_ON;
    }
    if (l->state.data)
        return fire_checked(l, TUTTI_EVENT_DATALOADER_STOP_ITERATION, PHASE_RESTART, err);
    l->phase = PHASE_RESTART;
    return GO_ON;
}

static tutti_status step_restart(tutti_loop *l, tutti_error *err)
{
    const tutti_status s = loop_data_restart(l, TUTTI_LOOP_NONE, err);
    if (s)
        return s;
    l->source.exhausted = true;
    l->phase = PHASE_ASK_BATCH;
    return GO_ON;
}

static tutti_status step_fetched(tutti_loop *l, tutti_error *err)
{
    l->counters.iter_counter++;
    l->counters.iterations++;
    l->counters.under_way = true;
    l->source.exhausted = false;
    l->state.iteration++;
    return fire_checked(l, TUTTI_EVENT_ITERATION_STARTED, PHASE_PROCESS, err);
}

static tutti_status step_process(tutti_loop *l, tutti_error *err)
{
    void *output = NULL;
    tutti_status s =
        l->options.process(l, l->state.batch, &output, l->options.process_ctx, err);
    l->counters.under_way = l->counters.under_way && s != TUTTI_OK;
    s = s ? check_status(s, "the process function", err) : take_signal(l, err);
    if (s)
        return s;
    l->state.output = output;
    return fire_checked(l, TUTTI_EVENT_ITERATION_COMPLETED, PHASE_ITERATED, err);
}

static tutti_status step_iterated(tutti_loop *l, tutti_error *err)
{
    const tutti_loop_state *st = &l->state;
    (void)err;
    if (st->epoch_length != TUTTI_LOOP_NONE && l->counters.iter_counter >= st->epoch_length) {
        l->phase = PHASE_EPOCH_OVER;
        return GO_ON;
    }
    l->phase = PHASE_ASK_BATCH;
    if (st->max_iters == TUTTI_LOOP_NONE || st->iteration < st->max_iters)
        return GO_ON;
    atomic_store(&l->requests.terminate, FLAG_YES);
    return CUT_RUN;
}

/* ---- what a step may end with ---- */

/* Steps whose errors end the epoch only, once handlers of exception_raised have seen them. */
static bool is_inner(phase p)
{
    return p >= PHASE_ASK_BATCH && p <= PHASE_RESTART;
}

static tutti_status raise_to_handlers(tutti_loop *l, const tutti_error *cause, tutti_error *err)
{
    const tutti_loop_firing firing = {.event = TUTTI_EVENT_EXCEPTION_RAISED,
                                      .exception = cause};
    if (handlers_count(l->handlers, TUTTI_EVENT_EXCEPTION_RAISED) == 0) {
        if (err->status == TUTTI_OK)
            *err = *cause;
        return cause->status;
    }
    l->stopped = false;
    const tutti_status s = loop_fire(l, &firing, err);
    return s > 0
               ? tutti_fail(err, TUTTI_E_STATE, "an end of data was told where none is fetched")
               : s;
}

/* What handlers are told of status `s`, which *err may explain. */
static void take_cause(tutti_status s, const tutti_error *err, tutti_error *cause)
{
    if (err->status == s && err->text[0]) {
        *cause = *err;
        return;
    }
    *cause = (tutti_error)TUTTI_ERROR_INIT;
    (void)tutti_fail(cause, s, "%s without a text", tutti_status_name(s));
}

/* An error in the step that began in `from`: OK when the run goes on or has ended in peace. */
static tutti_status handle_error(tutti_loop *l, phase from, tutti_status s, tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    if (s > 0)
        s = tutti_fail(&cause, TUTTI_E_STATE, "an end of data was told where none is fetched");
    else
        take_cause(s, err, &cause);
    err->status = TUTTI_OK;
    err->text[0] = '\0';
    if (is_inner(from) && s != TUTTI_E_INTERRUPTED) {
        const tutti_status again = raise_to_handlers(l, &cause, err);
        if (again == TUTTI_OK) {
            l->phase = PHASE_EPOCH_OVER;
            return TUTTI_OK;
        }
        if (handlers_count(l->handlers, TUTTI_EVENT_EXCEPTION_RAISED) == 0) {
            l->source.open = false;
            l->phase = PHASE_IDLE;
            return again;
        }
        /* The handler's own error reaches the handlers once more, from outside of the epoch. */
        take_cause(again, err, &cause);
        err->status = TUTTI_OK;
        err->text[0] = '\0';
    }
    const tutti_status told = raise_to_handlers(l, &cause, err);
    l->source.open =
        false; /* also what these handlers have set: it is for the next run to open */
    l->phase = PHASE_IDLE;
    return told;
}

static tutti_status cut_run(tutti_loop *l, tutti_error *err)
{
    const tutti_status s = fire(l, TUTTI_EVENT_TERMINATE, err);
    if (s)
        return s;
    l->phase = PHASE_FINISH;
    return GO_ON;
}

static tutti_status cut_epoch(tutti_loop *l, phase from, tutti_error *err)
{
    if (!is_inner(from))
        return tutti_fail(err, TUTTI_E_STATE,
                          "terminate_epoch was called in %s, where no epoch can be cut",
                          from == PHASE_START ? "started" : "epoch_started");
    const tutti_loop_firing firing = {.event = TUTTI_EVENT_TERMINATE_SINGLE_EPOCH,
                                      .iter_counter = l->counters.iter_counter};
    l->counters.under_way = false; /* it stays counted, and is not made */
    tutti_status s = fire_with(l, &firing, err);
    if (!s)
        s = loop_data_restart(l, l->counters.iter_counter, err);
    if (!s)
        l->phase = PHASE_EPOCH_OVER;
    return s;
}

void loop_open_epoch(tutti_loop *l)
{
    l->state.epoch++;
    l->counters.iter_counter = l->counters.first;
    l->counters.open = true;
}

tutti_status loop_end_epoch(tutti_loop *l, bool cut, bool skip, tutti_error *err)
{
    loop_counters *c = &l->counters;
    const tutti_loop_firing end = {.event = TUTTI_EVENT_EPOCH_COMPLETED},
                            cuts = {.event = TUTTI_EVENT_TERMINATE_SINGLE_EPOCH,
                                    .iter_counter = c->first};
    tutti_status s = cut ? loop_fire(l, &cuts, err) : TUTTI_OK;
    if (s || atomic_load(&l->requests.signal)) /* which the step takes */
        return s;
    if (cut && (s = loop_data_restart(l, c->first, err)))
        return s;
    c->open = false;
    c->first = 0;
    s = cut && skip ? TUTTI_OK : loop_fire(l, &end, err);
    atomic_store(&l->requests.terminate_epoch, FLAG_NO);
    return s;
}

static tutti_status step(tutti_loop *l, tutti_error *err)
{
    switch (l->phase) {
    case PHASE_START:
        return step_start(l, err);
    case PHASE_NEXT_EPOCH:
        return step_next_epoch(l, err);
    case PHASE_OPEN_DATA:
        return step_open_data(l, err);
    case PHASE_ASK_BATCH:
        return step_ask_batch(l, err);
    case PHASE_FETCH:
        return step_fetch(l, err);
    case PHASE_FETCHED:
        return step_fetched(l, err);
    case PHASE_PROCESS:
        return step_process(l, err);
    case PHASE_ITERATED:
        return step_iterated(l, err);
    case PHASE_RESTART:
        return step_restart(l, err);
    case PHASE_EPOCH_OVER:
        return step_epoch_over(l, err);
    case PHASE_FINISH:
        return step_finish(l, err);
    case PHASE_IDLE:
        break;
    }
    return GO_ON;
}

tutti_status loop_advance(tutti_loop *l, tutti_error *err)
{
    while (l->phase != PHASE_IDLE) {
        phase from = l->phase;
        tutti_status s = take_signal(l, err);
        if (!s)
            s = step(l, err);
        if (s == TUTTI_LOOP_END && (from == PHASE_ASK_BATCH || from == PHASE_FETCH))
            s = end_of_data(l, err);
        if (s == SUSPEND)
            return TUTTI_OK;
        /* From here on an error is one of the run, not of an epoch. */
        if (s == CUT_RUN || s == CUT_EPOCH) {
            s = s == CUT_RUN ? cut_run(l, err) : cut_epoch(l, from, err);
            from = PHASE_FINISH;
        }
        if (s != GO_ON) {
            s = handle_error(l, from, s, err);
            if (s)
                return s;
        }
    }
    return TUTTI_OK;
}
