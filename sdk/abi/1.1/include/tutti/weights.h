/* weights.h - tutti.weights/1: the model's weights, gradients and learning rates. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_WEIGHTS_H
#define TUTTI_WEIGHTS_H

#include "tensor.h"

TUTTI_C_BEGIN

#define TUTTI_WEIGHTS_V1 "tutti.weights/1"

typedef struct tutti_weight {
    uint32_t struct_size;
    uint32_t flags;    /* TUTTI_WEIGHT_* of module.h */
    const char *path;  /* "stage1.block0.conv1.weight" */
    tutti_tensor data; /* f32 for trainable ones */
    void *grad;    /* f32, same shape; NULL for buffers, frozen weights, and before training */
    int32_t group; /* optimizer group; -1 for none */
    int32_t reserved;
} tutti_weight;

#if TUTTI_USE_MINOR >= 1
/* since 1.1.  A part of the state that the optimizer keeps of one weight. */
typedef struct tutti_slot {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    /* What the optimizer calls it in slot_names: "exp_avg".  Lives as long as the run. */
    const char *name;
    /* f32, of the weight's shape or what slot_shape says; data.data is NULL with a dimension of 0. */
    tutti_tensor data;
} tutti_slot;
#endif

/* The model's weights and buffers, in a fixed order until the module tree changes. */
typedef struct tutti_weights_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    uint32_t (*count)(void *ctx); /* [step] */
    /* The k-th; views are valid until the tree changes.  On a device whose memory is out of the host's
     * reach they are copies: of the weight as it is at this call, and what is written to them goes back
     * at the end of the event in which the call was made.  [step] */
    tutti_status (*at)(void *ctx, uint32_t k, tutti_weight *ret_weight, tutti_error *err);
    /* Goes up whenever the tree, and so the views, have changed.  [step] */
    uint64_t (*version)(void *ctx);
    /* Optimizer groups: how many, the object's name, the learning rate of now.  [step] */
    uint32_t (*groups)(void *ctx);
    const char *(*optimizer)(void *ctx);
    double (*lr)(void *ctx, uint32_t group);
    /* The learning rate from here to the end of the batch, when the schedulers set the next one.
     * [step] */
    void (*set_lr)(void *ctx, uint32_t group, double lr);
    /* On a device whose memory is out of the host's
     * reach: where the factor is, one f32 in its memory, by which the update multiplies each gradient
     * as it reads it.  It is 1 when after_train_batch begins; whoever asks for the place on that event
     * has a kernel multiply it.  Who looks at gradients after that finds them multiplied.
     * NULL: not there; gradients are scaled where they are.  [step] */
    float *(*gradient_factor)(void *ctx);
    /* What is known of the k-th weight without a look at it: as `at`, with data.data and grad NULL.
     * [step] */
    tutti_status (*describe)(void *ctx, uint32_t k, tutti_weight *ret_weight, tutti_error *err);
#if TUTTI_USE_MINOR >= 1
    /* since 1.1.  How many slots the optimizer keeps of the k-th weight; 0: none, or no such weight.  [step] */
    uint32_t (*slots)(void *ctx, uint32_t k);
    /* since 1.1.  Slot `slot`, from 0, of the k-th weight: a view as `at` gives of weights, zero before the first
     * update.  [step]  Errors: E_RANGE there is no such slot; E_UNSUPPORTED the optimizer's state is divided
     * among the processes ("sharding": "states"). */
    tutti_status (*slot)(void *ctx, uint32_t k, uint32_t slot, tutti_slot *ret_slot,
                         tutti_error *err);
#endif
} tutti_weights_v1;

TUTTI_C_END
#endif
