/* interval.h - "every interval": when checkpoints, evaluations and the like are due. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_INTERVAL_H
#define TUTTI_INTERVAL_H

#include "events.h"
#include "time.h"

TUTTI_C_BEGIN

/* Keep one per consumer.  The rule is that of Composer's create_interval_scheduler. */
typedef struct tutti_interval {
    tutti_time every;          /* any unit; 0 or less (but for dur) is never */
    int32_t include_end;       /* not 0: also at the end of training */
    int32_t checkpoint_events; /* not 0: judged on *_CHECKPOINT, else on *_END and FIT_END */
    int64_t last_batch;        /* batch at which it was last due; -1 at first */
} tutti_interval;

/* The event at which the interval itself is judged. */
static inline int32_t tutti_interval_trigger(const tutti_interval *v)
{
    if (v->every.unit == TUTTI_UNIT_EPOCH)
        return v->checkpoint_events ? TUTTI_EVENT_EPOCH_CHECKPOINT : TUTTI_EVENT_EPOCH_END;
    if (v->every.unit == TUTTI_UNIT_ITERATION)
        return v->checkpoint_events ? TUTTI_EVENT_ITERATION_CHECKPOINT
                                    : TUTTI_EVENT_ITERATION_END;
    return v->checkpoint_events ? TUTTI_EVENT_BATCH_CHECKPOINT : TUTTI_EVENT_BATCH_END;
}

/* The events at which the end of training counts. */
static inline int tutti_interval_is_final(const tutti_interval *v, int32_t event)
{
    if (!v->checkpoint_events)
        return event == TUTTI_EVENT_FIT_END;
    return event == TUTTI_EVENT_BATCH_CHECKPOINT || event == TUTTI_EVENT_EPOCH_CHECKPOINT;
}

/* The part of `max` in whole counts of max's unit (of batches when that is epochs), rounded up; 0 when
 * it is none or does not fit; -1 when it cannot be told. */
static inline int64_t tutti_interval_steps(const tutti_interval *v, const tutti_time *max,
                                           int64_t dataloader_len)
{
    double count = (double)max->count * v->every.fraction;
    if (max->unit == TUTTI_UNIT_EPOCH) {
        if (dataloader_len < 0)
            return -1;
        count *= (double)dataloader_len;
    } else if (max->unit != TUTTI_UNIT_BATCH && max->unit != TUTTI_UNIT_SAMPLE &&
               max->unit != TUTTI_UNIT_TOKEN) {
        return -1;
    }
    if (!(count > 0.0 && count < 9e18))
        return 0;
    const int64_t whole = (int64_t)count;
    return (double)whole < count ? whole + 1 : whole;
}

/* Whether it is due at `event`: 1 or 0; -1 when an interval in dur meets a maximum in another unit than
 * ep, ba, sp or tok, or in ep over data without a length (dataloader_len -1).  `previous` is the
 * timestamp before the last batch, NULL before the first.  At the end of training both
 * BATCH_CHECKPOINT and EPOCH_CHECKPOINT of the last batch may be due, as upstream: who must act once
 * compares the batch.  [step] */
static inline int tutti_interval_due(tutti_interval *v, int32_t event,
                                     const tutti_timestamp *now,
                                     const tutti_timestamp *previous, const tutti_time *max,
                                     int64_t dataloader_len)
{
    const int in_dur = v->every.unit == TUTTI_UNIT_DURATION;
    int64_t step = v->every.count;
    int32_t unit = v->every.unit;
    if (!previous || unit == TUTTI_UNIT_NONE || (!in_dur && step <= 0))
        return 0;
    const int known = max->unit != TUTTI_UNIT_NONE && max->unit != TUTTI_UNIT_DURATION;
    if (v->include_end && tutti_interval_is_final(v, event) && known &&
        tutti_timestamp_get(now, max->unit) >= max->count && now->batch != v->last_batch)
        return 1;
    if (event != tutti_interval_trigger(v))
        return 0;
    if (in_dur) {
        step = tutti_interval_steps(v, max, dataloader_len);
        unit = max->unit == TUTTI_UNIT_EPOCH ? TUTTI_UNIT_BATCH : max->unit;
    }
    if (step <= 0)
        return step < 0 ? -1 : 0;
    const int64_t here = tutti_timestamp_get(now, unit);
    const int due = in_dur && unit == TUTTI_UNIT_BATCH
                        ? here % step == 0
                        : tutti_timestamp_get(previous, unit) / step != here / step;
    if (due)
        v->last_batch = now->batch;
    return due;
}

TUTTI_C_END
#endif
