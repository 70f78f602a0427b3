/* trainer_events.c - firing an event of the trainer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step/trainer_events.h"

#include "train/step/trainer_state.h"

/* What comes again in a run that goes on from before it: a batch, with the begin of its epoch, and the end of the run.  A
 * batch is closed where it is counted. */
static void open_batch(const trainer *t, int32_t event)
{
    switch (event) {
    case TUTTI_EVENT_FIT_START: /* another fit */
        observers_close_unit(&t->observers, TRACE_BATCH);
        return;
    case TUTTI_EVENT_ITERATION_START:
    case TUTTI_EVENT_EPOCH_START:
    case TUTTI_EVENT_BEFORE_DATALOADER:
    case TUTTI_EVENT_FIT_END:
        observers_open_unit(&t->observers, TRACE_BATCH);
        return;
    default:
        return;
    }
}

tutti_status trainer_event(trainer *t, int32_t event, tutti_error *err)
{
    const int32_t outer = t->run.stage.event;
    t->run.stage.event = event; /* also of a call that is left */
    open_batch(t, event);
    const tutti_status s = engine_run_train_event(t->run.engine, event, err);
    t->run.stage.event = outer;
    tutti_error ignored = TUTTI_ERROR_INIT;
    const tutti_status settled = mirrors_flush(&t->mirrors, true, s ? &ignored : err);
    scalars_end_event(&t->scalars);
    if (!s && !settled &&
        t->run.log.lacks_memory) /* what stops and schedules by metrics would not know */
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the last values of metrics");
    if (s || settled)
        return s ? s : settled;
    t->run.stage.started = t->run.stage.started || event == TUTTI_EVENT_FIT_START;
    /* Several ranks hear of it at the end of a batch. */
    return distributed_on(&t->distributed) ? TUTTI_OK : write_behind_failed(&t->behind, err);
}
