/* activations.h - tutti.activations/1: what goes into each module of the model, and what comes out. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_ACTIVATIONS_H
#define TUTTI_ACTIVATIONS_H

#include "tensor.h"

TUTTI_C_BEGIN

#define TUTTI_ACTIVATIONS_V1 "tutti.activations/1"

/* One call of a module.  Floating tensors are F32 on the host, whatever the run's precision and device; all is
 * borrowed for the call of `each`. */
typedef struct tutti_activation {
    uint32_t struct_size;
    uint32_t ninputs;
    uint32_t noutputs;
    uint32_t reserved;
    const char *path; /* "stage1.block0.conv1"; "" for the model itself */
    const char *kind; /* "conv2d" */
    const tutti_tensor *inputs;
    const tutti_tensor *outputs;
} tutti_activation;

/* Takes one call; an error ends the observation and is its result. */
typedef tutti_status (*tutti_activation_fn)(void *each_ctx, const tutti_activation *a,
                                            tutti_error *err);

typedef struct tutti_activations_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* Computes the forward pass of the microbatch under way once more, with nothing fused, and hands each module's
     * call to `each` as it ends: children before their parents, the model last.  Dropout is the same and no running
     * statistic moves.  All results of the pass are in memory at a time.  On after_forward,
     * before_loss, after_loss and before_backward alone.  [step]
     * Errors: E_STATE no microbatch is under way, or weights are divided among processes and nobody has asked for this
     * table when it was opened; E_NOMEM; those of `each`. */
    tutti_status (*observe)(void *ctx, tutti_activation_fn each, void *each_ctx,
                            tutti_error *err);
} tutti_activations_v1;

TUTTI_C_END
#endif
