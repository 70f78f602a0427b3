/* loop_events.c - every event of the loop runs in the engine, with Composer's at the same point around it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/counts.h"
#include "run/run_internal.h"

/* What the trainer does before the event is told, as between the events of its own loop. */
static tutti_status before(loop_run *l, int32_t event, tutti_error *err)
{
    if (event == TUTTI_EVENT_STARTED)
        training_start_clock(l->trainer);
    if (event == TUTTI_EVENT_EPOCH_STARTED)
        l->kept.requests[RUN_TERMINATE_EPOCH] = 0; /* what there was has ended its epoch */
    if (event == TUTTI_EVENT_EPOCH_COMPLETED) {
        training_end_batch(l->trainer); /* of an epoch that was cut */
        l->fetched = false;
        return training_end_epoch(l->trainer, err);
    }
    return event == TUTTI_EVENT_COMPLETED ? training_gather(l->trainer, err) : TUTTI_OK;
}

bool run_owes_epoch_end(const loop_run *l)
{
    const tutti_loop_state *st = tutti_loop_get_state(l->loop);
    const int64_t made = loop_get_place(l->loop).iterations;
    return l->taken_up && made > 0 &&
           (l->kept.requests[RUN_TERMINATE_EPOCH] ||
            (st->epoch_length > 0 && made >= st->epoch_length));
}

/* As behind its last iteration, or behind terminate_epoch, which the data begin anew behind. */
static tutti_status end_epoch(loop_run *l, tutti_error *err)
{
    const int32_t cut = l->kept.requests[RUN_TERMINATE_EPOCH];
    l->placed = l->placed && !cut;
    l->found = l->found || cut;
    return loop_end_epoch(l->loop, cut != 0, cut > 1, err);
}

/* What had ended the run when the checkpoint was written does so again, unless it goes on from that end. */
static bool ends_again(loop_run *l)
{
    int32_t *asked = &l->kept.requests[RUN_TERMINATE];
    if (!training_is_midway(l->trainer))
        *asked = 0;
    if (!*asked)
        return false;
    run_ask(l, RUN_TERMINATE, *asked > 1);
    if (!training_is_stopped(l->trainer))
        training_message(l->trainer, TUTTI_LOG_INFO, "run",
                         "a function ended the run before the checkpoint; what is left is its "
                         "end");
    return true;
}

/* What handlers ask of the trainer holds for the loop: a stop, a signal. */
static void pass_on(loop_run *l)
{
    if (training_is_stopped(l->trainer))
        run_request(l, RUN_TERMINATE, false);
    if (trainer_signal())
        tutti_loop_signal(l->loop, trainer_signal());
}

/* What functions ask, of all ranks. */
static tutti_status agree_again(loop_run *l, tutti_error *err)
{
    pass_on(l);
    return run_agree(l, TUTTI_EVENT_STARTED, err);
}

/* What was left to do at the last event of the process before: evaluations, the functions behind them, what these ask of the
 * loop, and the checkpoint.  All ranks know of it. */
static tutti_status do_owed(loop_run *l, tutti_error *err)
{
    const bool held = engine_held(l->engine) >= 0;
    tutti_status s = training_evaluate_owed(l->trainer, err);
    if (!s && held && engine_held(l->engine) < 0)
        s = agree_again(l, err);
    if (!s)
        s = training_save_owed(l->trainer, err);
    return s || !l->taken_up ? s : agree_again(l, err);
}

/* The epoch of the checkpoint is under way meanwhile, and begins again where the run goes on in it. */
static tutti_status end_taken_up(loop_run *l, tutti_error *err)
{
    const loop_place at = loop_get_place(l->loop);
    const bool ends = l->taken_up && ends_again(l), pending = l->pending != NULL;
    const int32_t interrupts = l->kept.requests[RUN_INTERRUPT];
    l->asked = false;
    if (at.iterations > 0)
        loop_open_epoch(l->loop);
    l->behind = true;
    const tutti_status s = do_owed(l, err);
    const bool owes = run_owes_epoch_end(l);
    l->taken_up = l->behind = false;
    /* Ranks know the same of signals; what stops one alone stops all behind the next event at which they meet. */
    const bool stopped = ends || l->kept.requests[RUN_TERMINATE] ||
                         l->kept.requests[RUN_INTERRUPT] != interrupts ||
                         (l->pending && !pending) ||
                         (!l->ranks.count && training_is_stopped(l->trainer));
    if (s || trainer_signal() || stopped)
        return s;
    if (owes)
        return end_epoch(l, err);
    if (at.iterations > 0)
        loop_set_place(l->loop, at.epochs, at.iterations);
    return TUTTI_OK;
}

/* Behind the evaluations of the event. */
static tutti_status save_due(loop_run *l, int32_t event, tutti_error *err)
{
    return training_owes_evaluations(l->trainer) ? TUTTI_OK
                                                 : training_event(l->trainer, event, err);
}

/* And after it. */
static tutti_status after(loop_run *l, int32_t event, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    switch (event) {
    case TUTTI_EVENT_STARTED:
        return end_taken_up(l, err);
    case TUTTI_EVENT_ITERATION_COMPLETED:
        training_end_batch(l->trainer);
        return save_due(l, TUTTI_EVENT_BATCH_CHECKPOINT, err);
    case TUTTI_EVENT_EPOCH_COMPLETED:
        s = training_refit(l->trainer, err); /* of frozen layers */
        return s ? s : save_due(l, TUTTI_EVENT_EPOCH_CHECKPOINT, err);
    case TUTTI_EVENT_EPOCH_STARTED:
        if (loop_get_place(l->loop).iterations == 0) /* else the log has it */
            training_log_epoch(l->trainer);
        return TUTTI_OK;
    default:
        return TUTTI_OK;
    }
}

/* All who hear the event, on all ranks, and what they ask; then what the trainer does behind it. */
static tutti_status tell(loop_run *l, int32_t event, tutti_error *err)
{
    const int32_t around = event_counterpart(event);
    tutti_status s = before(l, event, err);
    if (!s)
        s = training_event(l->trainer, around < 0 ? event : around, err);
    pass_on(l);
    if (!s)
        s = run_agree(l, event, err); /* before anything is saved */
    if (!s)
        s = after(l, event, err);
    if (s || event != TUTTI_EVENT_ITERATION_COMPLETED)
        return s;
    l->asked = true;
    s = training_save_asked(l->trainer, err);
    l->asked = false;
    return s;
}

/* Over ranks handlers hear what went wrong, and the run ends: the other ranks may not have gone wrong. */
static tutti_status end_by(loop_run *l, const tutti_error *exception, tutti_error *err)
{
    l->ranks.raised = true;
    *err = *exception;
    return err->status;
}

static tutti_status hear(tutti_loop *loop, const tutti_loop_firing *firing, void *ctx,
                         tutti_error *err)
{
    loop_run *l = ctx;
    const tutti_loop_firing *const outer = l->firing;
    const int32_t event = firing->event;
    /* Whoever heard errors may be gone: then this one is as if nobody had ever listened. */
    const bool raised = event == TUTTI_EVENT_EXCEPTION_RAISED;
    if (raised && (l->ranks.raised || !engine_listens(l->engine, event))) {
        *err = *firing->exception;
        return err->status;
    }
    l->firing = firing;
    const tutti_status s = tell(l, event, err);
    l->firing = outer;
    pass_on(l);
    return !s && raised && l->ranks.count ? end_by(l, firing->exception, err) : s;
}

/* What filters count: Ignite's numbers at Ignite's events and custom ones, the trainer's elsewhere. */
static const int64_t *counter(void *ctx, int32_t event)
{
    loop_run *l = ctx;
    const tutti_loop_state *st = tutti_loop_get_state(l->loop);
    switch (event) {
    case TUTTI_EVENT_GET_BATCH_STARTED:
    case TUTTI_EVENT_GET_BATCH_COMPLETED:
    case TUTTI_EVENT_ITERATION_STARTED:
    case TUTTI_EVENT_ITERATION_COMPLETED:
        return &st->iteration;
    case TUTTI_EVENT_STARTED:
    case TUTTI_EVENT_COMPLETED:
    case TUTTI_EVENT_EPOCH_STARTED:
    case TUTTI_EVENT_EPOCH_COMPLETED:
        return &st->epoch;
    default:
        break;
    }
    if (event >= TUTTI_IGNITE_FIRST)
        return engine_event_attribute(l->engine, event);
    l->counted = engine_event_count(l->engine, event);
    return &l->counted;
}

tutti_status run_join_events(loop_run *l, tutti_error *err)
{
    engine_count_by(l->engine, counter, l);
    for (int32_t event = TUTTI_IGNITE_FIRST; event < IGNITE_EVENT_END; event++) {
        const tutti_status s = tutti_loop_on(l->loop, event, hear, l, err);
        if (s)
            return s;
    }
    return TUTTI_OK;
}
