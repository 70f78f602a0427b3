/* interval.h - Composer's rule for callbacks that work every so often, on the checkpoint events. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INTERVAL_H
#define INTERVAL_H

#include "tutti/events.h"
#include "tutti/state.h"

#include <math.h>
#include <stdbool.h>

/* Its callback hears batch_start and the three checkpoint events. */
typedef struct interval {
    const tutti_state_v1 *state;
    tutti_time every;
    tutti_timestamp previous; /* before the latest batch */
    bool has_previous;
} interval;

/* On batch_start. */
static inline void interval_batch(interval *i)
{
    i->previous = *i->state->time;
    i->has_previous = true;
}

/* An interval of nothing, or a batch that has not been yet, is never due. */
static inline bool interval_off(const interval *i)
{
    return !i->has_previous ||
           (i->every.unit == TUTTI_UNIT_DURATION ? !(i->every.fraction > 0.0)
                                                 : i->every.count <= 0);
}

static inline bool interval_crossed(const interval *i, int32_t unit, double step)
{
    const int64_t n = step >= 1.0 && step < 9e18 ? (int64_t)ceil(step) : step > 0.0 ? 1 : 0;
    return n > 0 && tutti_timestamp_get(&i->previous, unit) / n !=
                        tutti_timestamp_get(i->state->time, unit) / n;
}

/* Whether the interval ends at this event; the end of training always is one. */
static inline bool interval_due(const interval *i, int32_t event)
{
    const int32_t unit = i->every.unit;
    const tutti_time *max = i->state->max_duration;
    const bool final =
        event == TUTTI_EVENT_BATCH_CHECKPOINT || event == TUTTI_EVENT_EPOCH_CHECKPOINT;
    const int32_t trigger = unit == TUTTI_UNIT_EPOCH       ? TUTTI_EVENT_EPOCH_CHECKPOINT
                            : unit == TUTTI_UNIT_ITERATION ? TUTTI_EVENT_ITERATION_CHECKPOINT
                                                           : TUTTI_EVENT_BATCH_CHECKPOINT;
    if (interval_off(i))
        return false;
    if (final && i->state->elapsed(i->state->ctx) >= 1.0)
        return true;
    if (event != trigger)
        return false;
    if (unit != TUTTI_UNIT_DURATION)
        return interval_crossed(i, unit, (double)i->every.count);
    double step = (double)max->count * i->every.fraction;
    if (max->unit == TUTTI_UNIT_EPOCH) { /* counted in batches */
        step *= (double)i->state->dataloader_len(i->state->ctx);
        return interval_crossed(i, TUTTI_UNIT_BATCH, step);
    }
    return interval_crossed(i, max->unit, step);
}

#endif
