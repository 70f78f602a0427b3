/* interval.c - "every interval": when checkpoints, evaluations and the like are due. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/duration.h"
#include "tutti/events.h"

#include <math.h>

/* The event at which the interval itself is judged. */
static int32_t trigger_event(const interval *v)
{
    switch (v->every.unit) {
    case TUTTI_UNIT_EPOCH:
        return v->checkpoint_events ? TUTTI_EVENT_EPOCH_CHECKPOINT : TUTTI_EVENT_EPOCH_END;
    case TUTTI_UNIT_ITERATION:
        return v->checkpoint_events ? TUTTI_EVENT_ITERATION_CHECKPOINT
                                    : TUTTI_EVENT_ITERATION_END;
    default:
        return v->checkpoint_events ? TUTTI_EVENT_BATCH_CHECKPOINT : TUTTI_EVENT_BATCH_END;
    }
}

static bool final_event(const interval *v, int32_t event)
{
    if (!v->checkpoint_events)
        return event == TUTTI_EVENT_FIT_END;
    return event == TUTTI_EVENT_BATCH_CHECKPOINT || event == TUTTI_EVENT_EPOCH_CHECKPOINT;
}

/* Whether the counter of `unit` went over a multiple of `step`. */
static bool crossed(const tutti_timestamp *previous, const tutti_timestamp *now, int32_t unit,
                    int64_t step)
{
    return step > 0 &&
           tutti_timestamp_get(previous, unit) / step != tutti_timestamp_get(now, unit) / step;
}

/* The fraction in counts of the maximum's unit, rounded up; 0 when it is none or does not fit. */
static int64_t steps_of(double count)
{
    return count > 0.0 && count < 9e18 ? (int64_t)ceil(count) : 0;
}

static tutti_status due_in_dur(const interval *v, const tutti_timestamp *now,
                               const tutti_timestamp *previous, tutti_time max, int64_t len,
                               bool *ret_due, tutti_error *err)
{
    const double share = (double)max.count * v->every.fraction;
    switch (max.unit) {
    case TUTTI_UNIT_EPOCH: {
        if (len < 0)
            return tutti_fail(err, TUTTI_E_ARG,
                              "an interval in dur needs to know the number of batches in an "
                              "epoch, and the data has no length");
        const int64_t batches = steps_of(share * (double)len);
        *ret_due = batches > 0 && now->batch % batches == 0;
        return TUTTI_OK;
    }
    case TUTTI_UNIT_BATCH: {
        const int64_t batches = steps_of(share);
        *ret_due = batches > 0 && now->batch % batches == 0;
        return TUTTI_OK;
    }
    case TUTTI_UNIT_SAMPLE:
    case TUTTI_UNIT_TOKEN:
        *ret_due = crossed(previous, now, max.unit, steps_of(share));
        return TUTTI_OK;
    default:
        return tutti_fail(err, TUTTI_E_ARG,
                          "an interval in dur needs a maximum duration in ep, ba, sp or tok");
    }
}

tutti_status interval_due(interval *v, int32_t event, const tutti_timestamp *now,
                          const tutti_timestamp *previous, tutti_time max_duration,
                          int64_t dataloader_len, bool *ret_due, tutti_error *err)
{
    const bool in_dur = v->every.unit == TUTTI_UNIT_DURATION;
    bool due = false;
    if (!previous || v->every.unit == TUTTI_UNIT_NONE || (!in_dur && v->every.count <= 0)) {
        *ret_due = false;
        return TUTTI_OK;
    }
    if (v->include_end && final_event(v, event) && duration_elapsed(now, max_duration) >= 1.0 &&
        now->batch != v->last_batch) {
        *ret_due = true;
        return TUTTI_OK;
    }
    if (event == trigger_event(v)) {
        if (in_dur) {
            const tutti_status s =
                due_in_dur(v, now, previous, max_duration, dataloader_len, &due, err);
            if (s != TUTTI_OK)
                return s;
        } else {
            due = crossed(previous, now, v->every.unit, v->every.count);
        }
    }
    if (due)
        v->last_batch = now->batch;
    *ret_due = due;
    return TUTTI_OK;
}
