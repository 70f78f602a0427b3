/* train.h - tutti.train/1: extra forward passes, mixed losses, the training data's interfaces. */
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
     * forward; dropout draws as in the batch's first microbatch.  `inputs` and `targets` follow the
     * model's order.  [step] */
    tutti_status (*sample_losses)(void *ctx, const tutti_tensor *inputs, uint32_t ninputs,
                                  const tutti_tensor *targets, uint32_t ntargets, float *losses,
                                  tutti_error *err);
    /* On before_backward: loss becomes (1 - weight) * loss + weight * loss(outputs, target), and
     * so does the gradient.  `target` replaces the model's first target.  [step] */
    tutti_status (*mix_loss)(void *ctx, const tutti_tensor *target, double weight,
                             tutti_error *err);
    /* Runs the model forward in evaluation mode on inputs of the caller's, which follow the model's
     * order and may have any shape that it takes.  Writes views of its first `noutputs` outputs,
     * valid until the event ends or the next forward.  Only where no batch or evaluation is under
     * way: on batch_checkpoint, epoch_end, epoch_checkpoint and the like, else E_STATE.  Processes of a run that have
     * divided weights among them all call it together, but for a logger that asks for this table when it opens, and for
     * handlers of one rank.  [step] */
    tutti_status (*forward)(void *ctx, const tutti_tensor *inputs, uint32_t ninputs,
                            tutti_tensor *ret_outputs, uint32_t noutputs, tutti_error *err);
    /* The table that the training dataset answers to `interface_id` ("tutti.vocabulary/1"), with
     * the `self` for its calls; NULL when it has none, or there is no training data yet.  Lives
     * as long as the host.  [step] */
    const void *(*dataset)(void *ctx, const char *interface_id, void **ret_self);
    /* As sample_losses, but nobody waits: *ret_losses is F32 (B) where the run's tensors are, for kernels and
     * copies of tutti.device_view/1.  Valid until the event ends or the next call.  [step] */
    tutti_status (*sample_losses_there)(void *ctx, const tutti_tensor *inputs, uint32_t ninputs,
                                        const tutti_tensor *targets, uint32_t ntargets,
                                        tutti_tensor *ret_losses, tutti_error *err);
} tutti_train_v1;

TUTTI_C_END
#endif
