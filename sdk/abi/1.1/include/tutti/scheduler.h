/* scheduler.h - tutti.scheduler/1: a factor on the learning rate as a function of time. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_SCHEDULER_H
#define TUTTI_SCHEDULER_H

#include "time.h"

TUTTI_C_BEGIN

#define TUTTI_SCHEDULER_V1 "tutti.scheduler/1"

typedef struct tutti_schedule {
    uint32_t struct_size;
    uint32_t reserved;
    const tutti_timestamp *now;
    tutti_time max_duration; /* already times scale_ratio */
    int64_t dataloader_len;  /* batches an epoch; -1 when unknown */
    double scale_ratio;      /* scale_schedule_ratio; 1 unless the run says otherwise */
} tutti_schedule;

typedef struct tutti_scheduler_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* Writes the factor at s->now.  Fails, naming the setting, when times and units do not fit
     * this run; the host asks once at time 0 before training.  Pure.  [any] */
    tutti_status (*multiplier)(void *self, const tutti_schedule *s, double *ret_multiplier,
                               tutti_error *err);
} tutti_scheduler_v1;

TUTTI_C_END
#endif
