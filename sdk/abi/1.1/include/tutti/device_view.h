/* device_view.h - tutti.device_view/1: tensors where they are, for plugins that bring kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_DEVICE_VIEW_H
#define TUTTI_DEVICE_VIEW_H

#include "device.h"
#include "weights.h"

TUTTI_C_BEGIN

#define TUTTI_DEVICE_VIEW_V1 "tutti.device_view/1"
#define TUTTI_PEEK_BYTES 64

/* Weights that lie one after the other, as F32 numbers.  What is between two of them for alignment is
 * zero in all of w and g, and must stay so. */
typedef struct tutti_span {
    uint32_t struct_size;
    uint32_t first; /* number of the first weight, as tutti.weights/1 counts */
    uint32_t count; /* of weights */
    uint32_t reserved;
    int64_t n; /* of numbers */
    float *w;
    float *g; /* their gradients; NULL: these are not trained */
} tutti_span;

/* tutti.state/1 and tutti.weights/1 show the host's memory: what lies on a device is copied, and the run
 * waits.  This shows where tensors are.  A plugin that asks for it touches them by kernels of its
 * manifest (tutti.kernel/1) alone, never with its own hands, and so works on every device by one way:
 * in the host's memory kernels are called at once, on a GPU they are launched in this order.
 * Where not all kernels of a plugin run on the run's device, this shows copies on the host, kernels are
 * called on the host, and the run says so once.  A plugin without any kernel gets tensors where they
 * are too: it can ask for shapes, and copy.
 * All pointers are kernels' arguments and `copy`'s.  Everything is [step] unless it says otherwise. */
typedef struct tutti_device_view_v1 {
    uint32_t struct_size;
    int32_t device; /* what tensors from here carry; TUTTI_DEVICE_CPU: the host's memory */
    void *ctx;

    /* Shape and dtype of what tutti.state/1 calls `name`; nothing is copied. */
    tutti_status (*describe)(void *ctx, const char *name, tutti_desc *ret_desc,
                             tutti_error *err);
    /* The tensor of that name; kernels that write to it change the state.  Valid until the event ends. */
    tutti_status (*get)(void *ctx, const char *name, tutti_tensor *ret_tensor,
                        tutti_error *err);
    /* Puts memory for `desc`, of any contents, in the place of a batch column; kernels fill it.  What `get`
     * gave of the column before can be read by kernels until the next renew of it in this event.
     * "outputs" and "loss" keep shape and memory.  Only inside apply and run_event. */
    tutti_status (*renew)(void *ctx, const char *name, const tutti_desc *desc,
                          tutti_tensor *ret_tensor, tutti_error *err);

    /* As tutti.weights/1's `at`, valid until the tree changes (its `version`). */
    tutti_status (*weight)(void *ctx, uint32_t k, tutti_weight *ret_weight, tutti_error *err);
    /* All F32 weights and buffers, in as few ranges as there can be: usually one that is trained and
     * one that is not.  Their order and bounds change with the tree alone. */
    uint32_t (*spans)(void *ctx);
    tutti_status (*span)(void *ctx, uint32_t k, tutti_span *ret_span, tutti_error *err);

    /* Memory of the plugin's own: averages, sums, tables.  Zeroed; given back by `give` before the plugin
     * closes, even while kernels use it.  tutti.stateful/1 may hand it out with `device` in the
     * tensor: checkpoints read and write it where it is.  [control] too */
    tutti_status (*take)(void *ctx, uint64_t bytes, void **ret_memory, tutti_error *err);
    void (*give)(void *ctx, void *memory); /* NULL is allowed */
    /* `how` is TUTTI_COPY_TO_DEVICE, _FROM_DEVICE or _ON_DEVICE.  In order with kernels; the host's side
     * may be used again when it returns.  Only FROM_DEVICE waits for kernels. */
    tutti_status (*copy)(void *ctx, void *to, const void *from, uint64_t bytes, int32_t how,
                         tutti_error *err);
    /* Without waiting: asks for `bytes`, at most TUTTI_PEEK_BYTES, as the kernels launched so far leave them,
     * and writes to `to` the newest that has come of what this and earlier calls asked for.
     * *ret_known is 0 while nothing has; in the host's memory it is 1 and they are those of now. */
    tutti_status (*peek)(void *ctx, const void *memory, uint64_t bytes, void *to,
                         int32_t *ret_known, tutti_error *err);
#if TUTTI_USE_MINOR >= 1
    /* since 1.1.  As tutti.weights/1's `slot`, valid until the tree changes. */
    tutti_status (*slot)(void *ctx, uint32_t k, uint32_t slot, tutti_slot *ret_slot,
                         tutti_error *err);
#endif
} tutti_device_view_v1;

TUTTI_C_END
#endif
