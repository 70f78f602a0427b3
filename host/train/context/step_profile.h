/* step_profile.h - what the operations of plans take in a run that is profiled: time, work, memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CONTEXT_STEP_PROFILE_H
#define HOST_TRAIN_CONTEXT_STEP_PROFILE_H

#include "engine/profile/profiler.h"
#include "graph/plan/plan.h"

/* All runs of one operation, or of one group of fused ones, in measured batches. */
typedef struct step_row {
    char name[96]; /* as program_step's */
    uint64_t count;
    int64_t ns;
    double flops;
    double bytes;
} step_row;

/* Not copyable once it observes. */
typedef struct step_profile {
    profiler *profiler; /* borrowed */
    step_row *rows;
    size_t nrows, capacity;
    uint64_t peak;      /* bytes of a plan's arena in use at a time, the most; its place: */
    char peak_name[96]; /* the operation */
    char peak_scope[160];
    bool lost; /* there was no memory for a row */
    program_observer observer;
} step_profile;

/* From now on steps that the host runs are spans of the profiler's time line, "op/conv2d", with the counter
 * "memory/arena", and counted here; ends with the net or step_profile_stop.  [control] */
void step_profile_start(step_profile *s, profiler *p, net *n);
void step_profile_stop(step_profile *s, net *n); /* frees the rows; `n` may be NULL */

#endif
