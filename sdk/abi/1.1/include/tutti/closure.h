/* closure.h - tutti.optimizer_wrapper/1: an update that evaluates the batch more than once. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_CLOSURE_H
#define TUTTI_CLOSURE_H

#include "base.h"

TUTTI_C_BEGIN

#define TUTTI_OPTIMIZER_WRAPPER_V1 "tutti.optimizer_wrapper/1"

/* What one evaluation of the batch gave. */
typedef struct tutti_evaluation {
    float loss;     /* of the whole batch, without loss scale; see TUTTI_WRAPPER_NO_LOSS */
    int32_t finite; /* 0: some gradient is infinite or NaN, so this step must not update */
} tutti_evaluation;

/* The training step, as the host hands it to a wrapper.  PyTorch's optimizer.step(closure) is the
 * model; the answer is a status and a flag, so that a loss of zero is a loss like any other. */
typedef struct tutti_closure {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* Events before_train_batch to after_train_batch on the present batch at the weights of now;
     * gradients are overwritten.  The first evaluation's loss is the one that is logged, train
     * metrics are those of the last.  [step] */
    tutti_status (*evaluate)(void *ctx, tutti_evaluation *ret_evaluation, tutti_error *err);
    /* The optimizer's update from the gradients of now; at most once in a step.  [step] */
    tutti_status (*update)(void *ctx, tutti_error *err);
} tutti_closure;

enum {
    /* It never reads tutti_evaluation.loss, which then is NaN where the host would wait for it. */
    TUTTI_WRAPPER_NO_LOSS = 1u << 0,
};

/* An algorithm that has this takes the place of "evaluate, then update".  A run has at most one; the trait
 * "wraps_optimizer" in its manifest tells `tutti validate` too. */
typedef struct tutti_optimizer_wrapper_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* One training step.  Must evaluate at least once and leave the weights as the update made them,
     * or, without an update, as they were.  [step] */
    tutti_status (*step)(void *self, const tutti_closure *closure, tutti_error *err);
    uint32_t flags; /* TUTTI_WRAPPER_* */
    uint32_t reserved2;
} tutti_optimizer_wrapper_v1;

TUTTI_C_END
#endif
