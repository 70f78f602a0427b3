/* time.h - training time: units, durations and the counters of a run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_TIME_H
#define TUTTI_TIME_H

#include "base.h"

/* unit, suffix, what it counts.  A `dur` is a fraction of the run's maximum duration. */
#define TUTTI_TIME_UNITS(X)                                                                    \
    X(ITERATION, "iter", "iterations")                                                         \
    X(EPOCH, "ep", "epochs")                                                                   \
    X(BATCH, "ba", "batches")                                                                  \
    X(SAMPLE, "sp", "samples")                                                                 \
    X(TOKEN, "tok", "tokens")                                                                  \
    X(DURATION, "dur", "fraction of the maximum duration")                                     \
    X(SECOND, "sec", "seconds of wall-clock time")

enum {
    TUTTI_UNIT_NONE,
#define TUTTI_X(name, suffix, text) TUTTI_UNIT_##name,
    TUTTI_TIME_UNITS(TUTTI_X)
#undef TUTTI_X
};

/* A duration or a point in time.  Unit NONE means "not set". */
typedef struct tutti_time {
    int64_t count;   /* in every unit but dur */
    double fraction; /* in dur */
    int32_t unit;    /* TUTTI_UNIT_* */
    int32_t reserved;
} tutti_time;

/* The counters of a training, evaluation or prediction clock.  Wall-clock times are nanoseconds
 * of the work itself: training excludes the evaluations inside it. */
typedef struct tutti_timestamp {
    uint32_t struct_size;
    uint32_t reserved;
    int64_t iteration;
    int64_t epoch;
    int64_t batch;
    int64_t sample;
    int64_t token;
    int64_t epoch_in_iteration;
    int64_t token_in_iteration;
    int64_t batch_in_epoch;
    int64_t sample_in_epoch;
    int64_t token_in_epoch;
    int64_t total_ns;
    int64_t iteration_ns;
    int64_t epoch_ns;
    int64_t batch_ns;
} tutti_timestamp;

/* The counter of `unit`; seconds are whole.  0 for dur and NONE.  [any] */
static inline int64_t tutti_timestamp_get(const tutti_timestamp *t, int32_t unit)
{
    switch (unit) {
    case TUTTI_UNIT_ITERATION:
        return t->iteration;
    case TUTTI_UNIT_EPOCH:
        return t->epoch;
    case TUTTI_UNIT_BATCH:
        return t->batch;
    case TUTTI_UNIT_SAMPLE:
        return t->sample;
    case TUTTI_UNIT_TOKEN:
        return t->token;
    case TUTTI_UNIT_SECOND:
        return t->total_ns / 1000000000;
    default:
        return 0;
    }
}

#endif
