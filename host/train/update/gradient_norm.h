/* gradient_norm.h - the norm of all gradients, for optimizers that read it: computed where the gradients are. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_UPDATE_GRADIENT_NORM_H
#define HOST_TRAIN_UPDATE_GRADIENT_NORM_H

#include "train/update/device_scalars.h"

enum { NORM_SQUARES, NORM_ROOT, NORM_OPS };

/* Zeros at first. */
typedef struct gradient_norm {
    const tutti_device *device; /* where it is computed; NULL: here */
    scalar_op ops[NORM_OPS];
    double *parts; /* there: sums of the gradients' pieces */
    bool wanted;   /* by an optimizer */
    double now;    /* of this update, where the host computes it */
} gradient_norm;

/* For gradients of `count` numbers that lie on `device`, of which the host sees a copy where it is `staged`.  Does
 * nothing where no optimizer wants it.  Errors: E_NOMEM; E_UNSUPPORTED: the device cannot compute it; those of the
 * kernels.  [control] */
TUTTI_NODISCARD tutti_status norm_fit(gradient_norm *n, const run_context *run,
                                      const tutti_device *device, bool staged, int64_t count,
                                      tutti_error *err);
/* Adds the norm to the numbers of `ngroups` updates, which lie where the gradients do.  [step] */
TUTTI_NODISCARD tutti_status norm_launch(gradient_norm *n, const float *grads, double *numbers,
                                         size_t ngroups, tutti_error *err);
/* `now`, of gradients in the host's memory.  [step] */
TUTTI_NODISCARD tutti_status norm_compute(gradient_norm *n, const float *grads,
                                          tutti_error *err);
void norm_fini(gradient_norm *n);

#endif
