/* events.c - firing an event of the trainer, and whether training is over. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer_state.h"

tutti_status trainer_event(trainer *t, int32_t event, tutti_error *err)
{
    const tutti_status s = engine_run_train_event(t->run.engine, event, err);
    tutti_error ignored = TUTTI_ERROR_INIT;
    const tutti_status settled = mirrors_flush(&t->mirrors, true, s ? &ignored : err);
    scalars_end_event(&t->scalars);
    return s ? s : settled;
}

bool trainer_done(const trainer *t)
{
    return trainer_signal() || trainer_finished(t);
}

bool trainer_finished(const trainer *t)
{
    return tutti_timestamp_get(&t->run.clock.now, t->run.clock.max_duration.unit) >=
           t->run.clock.max_duration.count;
}
