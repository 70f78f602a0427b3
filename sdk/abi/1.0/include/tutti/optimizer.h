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
    TUTTI_UPDATE_LR,         /* after the schedulers */
    TUTTI_UPDATE_STEP,       /* 1 on the first update of these weights */
    TUTTI_UPDATE_FACTOR,     /* gradients are multiplied by it, as f32, before anything else */
    TUTTI_UPDATE_SKIP,       /* not 0: weights and slots stay as they are */
    TUTTI_UPDATE_NUMBERS = 8 /* the others are 0 */
};

/* A parameter range: weights, gradients and state, all f32 of length n, 64-byte aligned where the
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
} tutti_update;

/* One opened object is one parameter group with its settings. */
typedef struct tutti_optimizer_v1 {
    uint32_t struct_size;
    uint32_t nslots;               /* numbers of state per weight */
    const char *const *slot_names; /* nslots names, for checkpoints: "momentum" */
    double lr;                     /* the group's learning rate before schedulers */
    /* Updates w and slots of the range, element by element: the host cuts a group into
     * ranges at any place and updates them at once on several threads.  [any] */
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
} tutti_optimizer_v1;

TUTTI_C_END
#endif
