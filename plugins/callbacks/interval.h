/* interval.h - callbacks that work every so often, on the checkpoint events. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INTERVAL_H
#define INTERVAL_H

#include "tutti/interval.h"
#include "tutti/state.h"

#include <stdbool.h>

/* Its callback hears fit_start, batch_start and the three checkpoint events. */
typedef struct interval {
    const tutti_state_v1 *state;
    tutti_time every;
    tutti_timestamp previous; /* before the latest batch */
    bool has_previous;
} interval;

/* On fit_start: what comes at the batch of a checkpoint, such as the end of an epoch, may be due. */
static inline void interval_begin(interval *i)
{
    const tutti_timestamp *previous = i->state->previous(i->state->ctx);
    if (previous) {
        i->previous = *previous;
        i->has_previous = true;
    }
}

/* On batch_start. */
static inline void interval_batch(interval *i)
{
    i->previous = *i->state->time;
    i->has_previous = true;
}

/* An interval of nothing is never due. */
static inline bool interval_none(const interval *i)
{
    return i->every.unit == TUTTI_UNIT_DURATION ? !(i->every.fraction > 0.0)
                                                : i->every.count <= 0;
}

/* Neither is it before the first batch. */
static inline bool interval_off(const interval *i)
{
    return !i->has_previous || interval_none(i);
}

/* Whether the interval ends at this event; the end of training always is one. */
static inline bool interval_due(const interval *i, int32_t event)
{
    tutti_interval rule = {i->every, 1, 1, -1};
    return !interval_off(i) && tutti_interval_due(&rule, event, i->state->time, &i->previous,
                                                  i->state->max_duration,
                                                  i->state->dataloader_len(i->state->ctx)) > 0;
}

#endif
