/* plan_reference.h - what a plan computes, by the f64 interpreter instead of the kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PLAN_PLAN_REFERENCE_H
#define HOST_GRAPH_PLAN_PLAN_REFERENCE_H

#include "graph/plan/plan.h"

typedef struct plan_numbers {
    double *outputs; /* all of them, one after the other */
    double *loss;    /* NULL without targets */
    double *grads; /* laid out as the gradient arena; NULL for plans without a backward pass */
    double
        *assigned; /* values for the buffers, in the order of net_weight, those not assigned as
                         they are; trainable weights take no memory */
} plan_numbers;

/* Reads inputs, targets, weights and buffers as they lie, and changes nothing.  The caller frees
 * the result with plan_numbers_fini. */
TUTTI_NODISCARD tutti_status plan_reference(plan *p, const tutti_step *step, float loss_scale,
                                            plan_numbers *ret_numbers, tutti_error *err);
void plan_numbers_fini(plan_numbers *numbers);

#endif
