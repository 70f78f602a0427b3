/* memory_observers.h - plugins that hear of memory that could not be had. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_MEMORY_OBSERVERS_H
#define HOST_TRAIN_STEP_MEMORY_OBSERVERS_H

#include "graph/program/program.h"

typedef struct trainer trainer; /* step/trainer_state.h */

/* For net_options.lacks_memory, with the trainer as its ctx. */
void memory_plan_refused(void *ctx, const program *q, uint64_t wanted, const tutti_error *why);
/* After E_NOMEM in a step or a part of an evaluation, before it is tried again; says nothing when a plan that was refused
 * is why.  [step] */
void memory_step_failed(trainer *t, const tutti_error *why);

#endif
