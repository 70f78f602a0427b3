/* optimizer.h - tutti.optimizer/1: the update of weights from gradients. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_OPTIMIZER_H
#define TUTTI_OPTIMIZER_H

#include "tensor.h"

TUTTI_C_BEGIN

#define TUTTI_OPTIMIZER_V1 "tutti.optimizer/1"
#define TUTTI_OPTIMIZER_MAX_SLOTS 4

/* What changes from update to update, by its place in tutti_update.numbers. */
enum {
    TUTTI_UPDATE_LR,     /* after the schedulers */
    TUTTI_UPDATE_STEP,   /* 1 on the first update of these weights */
    TUTTI_UPDATE_FACTOR, /* gradients are multiplied by it, as f32, before anything else */
    TUTTI_UPDATE_SKIP,   /* not 0: weights and slots stay as they are */
#if TUTTI_USE_MINOR >= 1
    TUTTI_UPDATE_NORM, /* since 1.1: as tutti_update.gradient_norm */
#endif
    TUTTI_UPDATE_NUMBERS = 8 /* the others are 0 */
};

/* A parameter range, or one weight: weights, gradients and state, all f32 of length n, 64-byte aligned where the
 * host can.  The host owns the arrays and keeps the slots (zero at first) in checkpoints. */
typedef struct tutti_update {
    uint32_t struct_size;
    uint32_t reserved;
    int64_t n;
    float *w;
    const float *g;
    float *slot
        [TUTTI_OPTIMIZER_MAX_SLOTS]; /* nslots of them, the others NULL; there will not be more */
    double lr;                       /* after the schedulers */
    double lr_initial;               /* before them; 0 when the run's learning rate is 0 */
    int64_t step;                    /* 1 on the first update of these weights */
    /* For update_on_device of a table with
     * reads_numbers, never NULL there: TUTTI_UPDATE_NUMBERS of them in the device's memory. */
    const double *numbers;
    /* For tables with writes_low.  Not NULL: each new weight goes there too, rounded to
     * the nearest number of low_dtype (TUTTI_BF16 or TUTTI_F16), ties to even, as half.h has it. */
    uint16_t *low;
    int32_t low_dtype;
    int32_t reserved2;
    /* For tables with by_weight, NULL for others: the weight's dimensions, whose product is n, and its
     * path.  Borrowed for the call. */
    const tutti_desc *desc;
    const char *path;
    /* For tables with by_weight: memory of as many bytes as the table's `scratch` says of the weight,
     * 64-byte aligned, with any contents; the device's for update_on_device.  NULL: none was asked for. */
    void *scratch;
    /* For `update` of tables with by_weight, NULL for others: calls part(arg, k) for each k from 0 to count - 1 with
     * the threads of the run, and returns when all have returned.  Which thread calls which part, and in which
     * order, is open: parts write to places of their own. */
    void (*each)(void *each_ctx, int64_t count, void (*part)(void *arg, int64_t k), void *arg);
    void *each_ctx;
#if TUTTI_USE_MINOR >= 1
    /* since 1.1.  For `update` of tables with reads_norm: the Euclidean norm of the gradients of all trained weights,
     * of every group, as this update gets them; f64, the same with any number of threads and processes.  0 for others.
     * update_on_device finds it in `numbers`, already times the factor there. */
    double gradient_norm;
#endif
} tutti_update;

/* One opened object is one parameter group with its settings. */
typedef struct tutti_optimizer_v1 {
    uint32_t struct_size;
    uint32_t nslots;               /* numbers of state per weight */
    const char *const *slot_names; /* nslots names, for checkpoints: "momentum" */
    double lr;                     /* the group's learning rate before schedulers */
    /* Updates w and slots of the range, element by element: the host cuts a group into
     * ranges at any place and updates them at once on several threads.  [any]  With by_weight: of one weight.
     * [step] */
    void (*update)(void *self, const tutti_update *u);
    /* The same where w, g and slots lie on a device
     * whose memory is its own, by a kernel of the manifest (tutti.kernel/1).  NULL: there is none, and
     * the host has them copied.  [step] */
    tutti_status (*update_on_device)(void *self, const tutti_update *u, tutti_error *err);
    /* 1: kernels of update_on_device read lr, step, factor and skip from `numbers` when they run, and
     * the update passes nothing else that changes, so that it can be gathered into a graph and
     * done again.  0: by the struct; the host waits for what it needs to know. */
    uint32_t reads_numbers;
    /* 1: update and update_on_device write `low` where it is not NULL.  0: the host rounds the weights
     * once more after each update. */
    uint32_t writes_low;
    /* 1: every call of update and update_on_device is one whole weight, with its dimensions and path, and one call
     * comes after the other: norms, rows and columns and products of a weight are possible.  Slots have
     * n numbers, or what slot_shape says, to be used as the optimizer likes.  Runs that divide optimizer state among processes refuse
     * it.  0: `update` as said there. */
    uint32_t by_weight;
    uint32_t reserved;
    /* For by_weight: bytes of `scratch` that an update of a weight of these dimensions needs.  NULL: none.
     * [control] */
    uint64_t (*scratch)(void *self, const tutti_desc *desc);
#if TUTTI_USE_MINOR >= 1
    /* since 1.1.  For by_weight: *shape, which is the weight's when it is called, becomes that of slot `slot` (from 0)
     * of a weight of these dimensions, by them and the settings alone; its dtype stays f32.  The host keeps as many
     * numbers, in checkpoints under this shape; with a dimension of 0 there are none, and the update's pointer is
     * NULL.  NULL, and what hosts of 1.0 do: each slot has the weight's shape.  [control] */
    tutti_status (*slot_shape)(void *self, const tutti_desc *desc, uint32_t slot,
                               tutti_desc *shape, tutti_error *err);
    /* since 1.1.  For by_weight.  1: the host computes the norm of all gradients before each update, a pass over
     * them, and tells it.  0: it does not. */
    uint32_t reads_norm;
    uint32_t reserved2; /* write 0 */
#endif
} tutti_optimizer_v1;

TUTTI_C_END
#endif
