/* numeric_guard.h - losses, gradients and weights that are not finite: noticed, named, and what the run wants then. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_UPDATE_NUMERIC_GUARD_H
#define HOST_TRAIN_UPDATE_NUMERIC_GUARD_H

#include "train/context/step_tensors.h"
#include "train/update/loss_scaler.h"

typedef struct numeric_guard {
    run_context *run;
    const step_tensors *tensors;
    const loss_scaler *scaler;
    bool sharded;    /* others' weights are not here: nobody looks at them for a cause */
    bool told;       /* of the losses under way that are not finite */
    bool told_skips; /* of the updates under way that are left out */
} numeric_guard;

/* The loss that plan `p` has just computed here, before its backward pass.  Errors: E_NUMERIC names the
 * batch and the first module with a value that is not finite.  [step] */
TUTTI_NODISCARD tutti_status guard_plan(numeric_guard *g, plan *p, tutti_error *err);
/* The loss of an earlier batch, on a device. */
TUTTI_NODISCARD tutti_status guard_loss(numeric_guard *g, double loss, uint64_t number,
                                        tutti_error *err);
/* Once the scaler knows whether a batch had an update.  Errors: E_NUMERIC when so many in a row had none that
 * no loss scale explains it. */
TUTTI_NODISCARD tutti_status guard_update(numeric_guard *g, tutti_error *err);
/* Warns, once training is over, when the last batches had no update. */
void guard_last_updates(const numeric_guard *g);
/* All weights, once training is over.  Errors also: E_NOMEM. */
TUTTI_NODISCARD tutti_status guard_weights(numeric_guard *g, tutti_error *err);

#endif
