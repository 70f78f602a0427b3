/* side_by_side.h - a rank's slots of a batch in lock step: their passes pause together for sums over all slots. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_SIDE_BY_SIDE_H
#define HOST_TRAIN_STEP_SIDE_BY_SIDE_H

#include "train/step/plan_step.h"

/* Statistics of the whole batch want the numbers of all slots at once.  A rank with one slot makes the sums as its
 * passes go on.  One with several runs every pass in parts, each part for all of its slots, whose results and gradients are all
 * in memory. */

/* Before a batch of a net that has changed: whether its plan `p`, of a batch of `slots` slots, can have that.  All ranks
 * agree.  Errors: E_UNSUPPORTED: a penalty on gradients; some rank has several slots and a plugin hears before_forward,
 * which may change what one forward pass reads.  [step] */
TUTTI_NODISCARD tutti_status side_by_side_check(trainer *t, int64_t slots, const plan *p,
                                                tutti_error *err);
/* Whether this rank's slots of the batch that has begun run so.  [step] */
bool side_by_side_wanted(const trainer *t);
/* Runs them, `size` samples each, in place of one after the other.  [step] */
TUTTI_NODISCARD tutti_status side_by_side_run(trainer *t, slot *saved_targets, int64_t size,
                                              tutti_error *err);
/* Gives its memory back. */
void side_by_side_fini(step_plans *plans);

#endif
