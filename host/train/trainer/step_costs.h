/* step_costs.h - what the operations of a training step take here, measured before any training. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_STEP_COSTS_H
#define HOST_TRAIN_TRAINER_STEP_COSTS_H

#include "tutti/tutti.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct trainer trainer;

/* All steps of one operation, or of groups of the same fused ones. */
typedef struct step_cost {
    char name[96];
    uint32_t steps;
    bool several; /* the operation has more than one kernel */
    double best;  /* seconds of one training step: the shortest of the rounds */
    double round; /* of the round under way */
} step_cost;

typedef struct step_costs {
    step_cost *rows; /* in the order in which they ran first */
    uint32_t count, capacity;
    int32_t threads;
    bool lost; /* there was no memory for a row */
} step_costs;

/* Runs forward pass, loss and backward pass of a step's plan some times, on whatever its memory holds, and takes the time
 * of each operation.  The trainer is good for nothing else then.  Errors: E_UNSUPPORTED the run's device is not the
 * host.  [control] */
TUTTI_NODISCARD tutti_status trainer_measure_step(trainer *t, step_costs *ret,
                                                  tutti_error *err);
void step_costs_fini(step_costs *c);
/* Writes a table: operations with more than one kernel by name, the others as one, and all. */
void step_costs_compare(const step_costs *anywhere, const step_costs *fastest, FILE *file);

#endif
