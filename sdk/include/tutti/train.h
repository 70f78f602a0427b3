/* train.h - tutti.train/1: extra forward passes and mixed losses. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_TRAIN_H
#define TUTTI_TRAIN_H

#include "tensor.h"

TUTTI_C_BEGIN

#define TUTTI_TRAIN_V1 "tutti.train/1"

typedef struct tutti_train_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* Runs the model forward in training mode without gradients on input columns `inputs` and
     * writes one loss a sample to losses[0..B).  Running statistics move as in any training
     * forward.  `inputs` and `targets` follow the model's order.  [step] */
    tutti_status (*sample_losses)(void *ctx, const tutti_tensor *inputs, uint32_t ninputs,
                                  const tutti_tensor *targets, uint32_t ntargets, float *losses,
                                  tutti_error *err);
    /* On before_backward: loss becomes (1 - weight) * loss + weight * loss(outputs, target), and
     * so does the gradient.  `target` replaces the model's first target.  [step] */
    tutti_status (*mix_loss)(void *ctx, const tutti_tensor *target, double weight,
                             tutti_error *err);
} tutti_train_v1;

TUTTI_ASSERT_OFFSET(tutti_train_v1, sample_losses, 16);
TUTTI_ASSERT_OFFSET(tutti_train_v1, mix_loss, 24);

TUTTI_C_END
#endif
