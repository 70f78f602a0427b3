/* numeric_guard.h - losses and weights that are not finite: noticed, named, and what the run wants then. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_UPDATE_NUMERIC_GUARD_H
#define HOST_TRAIN_UPDATE_NUMERIC_GUARD_H

#include "train/context/step_tensors.h"
#include "train/update/loss_scaler.h"

typedef struct numeric_guard {
    run_context *run;
    const step_tensors *tensors;
    const loss_scaler *scaler;
    bool parts; /* others' weights are not here: nobody looks at them for a cause */
    bool told;  /* of the losses under way that are not finite */
} numeric_guard;

/* The loss that plan `p` has just computed here, before its backward pass.  Errors: E_NUMERIC names the
 * batch and the first module with a value that is not finite.  [step] */
TUTTI_NODISCARD tutti_status guard_plan(numeric_guard *g, plan *p, tutti_error *err);
/* The loss of an earlier batch, on a device; `scale` is the loss scale behind it, 0: there is none. */
TUTTI_NODISCARD tutti_status guard_loss(numeric_guard *g, double loss, double scale,
                                        uint64_t number, tutti_error *err);
/* All weights, once training is over.  Errors also: E_NOMEM. */
TUTTI_NODISCARD tutti_status guard_weights(numeric_guard *g, tutti_error *err);

#endif
