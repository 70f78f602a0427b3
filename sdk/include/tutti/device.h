/* device.h - tutti.device/1: what holds tensors and runs kernels: a CPU, a GPU, an accelerator. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_DEVICE_H
#define TUTTI_DEVICE_H

#include "op.h"

TUTTI_C_BEGIN

#define TUTTI_DEVICE_V1 "tutti.device/1"

enum {
    /* Its memory is the host's: either may use a pointer of the other. */
    TUTTI_DEVICE_HOST_MEMORY = 1u << 0,
    /* Calls with a stream may return before their work is done. */
    TUTTI_DEVICE_ASYNC = 1u << 1,
    /* ASYNC, and work is gathered until something asks for it: `step`, a synchronise, a blocking
     * copy to the host. */
    TUTTI_DEVICE_STEPS = 1u << 2,
    /* What its kernels do for nothing, so that plans are made for it: operations of a graph become others,
     * by fusions that op_traits.h names.  Where the device runs an operation with such a fusion it must run
     * what that leads to, by its own kernel (`kernel`) or one of those that `kernels` names.  A model is
     * refused on a device that lacks one, E_UNSUPPORTED with flag and operation.  What kernels compute
     * the host does not check. */
    /* Products and convolutions add to what is there: TUTTI_FUSE_ADD.  So are gradients of later
     * microbatches added to those before.  Bit 2 of the kernel's `inplace` saves a copy. */
    TUTTI_DEVICE_ADDS = 1u << 3,
    /* Products sum up the rows of a factor that they read: TUTTI_FUSE_FACTOR_SUMS. */
    TUTTI_DEVICE_SUMS = 1u << 4,
    /* Products keep masks of bits for the gradient of ReLU, and read them: TUTTI_FUSE_ACTIVATION_MASK and
     * TUTTI_FUSE_MASK_GRAD.  A row of n results has (n + 127) / 128 * 16 bytes; result j is bit j % 8 of
     * byte j / 8. */
    TUTTI_DEVICE_MASKS = 1u << 5,
    /* Products are made in 16 bits: weights have copies to read. */
    TUTTI_DEVICE_HALVES = 1u << 6,
    /* Pointwise operations run together: there is a kernel for the operation of TUTTI_ROLE_POINTWISE_GROUP,
     * "pointwise_fusion".  Of those that `kernels` names, "cuda" has it; a kernel of the device's own is
     * told of a group by pointwise_group.h.  Without this flag the host makes groups of its own code where
     * `kernels` is "cpu" and `kernel` is NULL, else none. */
    TUTTI_DEVICE_GROUPS = 1u << 7,
#if TUTTI_USE_MINOR >= 2
    /* since 1.2: kernels of operations whose results are F32 in mixed precision write BF16 and F16 as
     * well, and those of norms' gradients read them, so that plans need no casts beside them; TUTTI_FUSE_CAST */
    TUTTI_DEVICE_HALF_RESULTS = 1u << 8,
    /* since 1.2: a loss and its gradient come of one pass over the logits: TUTTI_FUSE_LOSS_GRAD */
    TUTTI_DEVICE_LOSS_GRADS = 1u << 9,
#endif
};

/* What a device is.  The host owns it; the plugin fills it. */
typedef struct tutti_device_info {
    uint32_t struct_size;
    uint32_t flags;     /* TUTTI_DEVICE_* */
    uint32_t dtypes;    /* bit 1 << TUTTI_F32 and so on: what it can compute with */
    uint32_t alignment; /* of memory from alloc: a power of two, at least 64 */
    uint64_t bytes;     /* of memory in all; 0: not known */
    char name[64];      /* "NVIDIA H100 80GB HBM3" */
    /* Which kernels of a tutti_op it runs: "cpu", "cuda", or "": none but its own. */
    char kernels[16];
} tutti_device_info;

/* Which way a copy goes; exactly one of the three. */
enum {
    TUTTI_COPY_TO_DEVICE = 1,
    TUTTI_COPY_FROM_DEVICE = 2,
    TUTTI_COPY_ON_DEVICE = 3,
    /* Host memory belongs to the copy until its stream has been synchronised.  Without it, when
     * copy returns the host may change what was copied to the device, and has what was copied from
     * it. */
    TUTTI_COPY_NON_BLOCKING = 1 << 4,
};

/* Where a block of what is gathered begins, turns into its other part, and ends. */
enum {
    TUTTI_BLOCK_IF = 1,
    TUTTI_BLOCK_ELSE = 2,
    TUTTI_BLOCK_END = 3,
};

/* One call of a kernel.  Borrowed for the call: what runs later keeps its own copies of the struct,
 * of in[] and out[] and of *call->step.  `state`, `scratch`, `name`, `where` and the rest of `call`
 * stay until the stream has been synchronised. */
typedef struct tutti_launch {
    uint32_t struct_size;
    uint32_t reserved;
    const char *name; /* "conv2d", for messages */
    tutti_status (*run)(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch); /* as tutti_kernel's */
    void *state;
    const tutti_op_call *call;
    const void *const *in; /* call->nin, on the device */
    void *const *out;      /* call->nout, on the device */
    void *scratch;         /* on the device */
    const char *where;     /* "layer1.act", for messages; may be NULL */
} tutti_launch;

/* Draws for element k: word k % 4 of tutti_rng(seed, purpose, step, index + k / 4). */
typedef struct tutti_device_draw {
    uint32_t struct_size;
    uint32_t purpose;
    uint64_t seed;
    uint64_t step;
    uint64_t index;
} tutti_device_draw;

/* An object of kind "device" is a backend, which may have any number of devices.  `device` is what
 * `open` gave; no two calls on one device happen at once.  `stream` is what stream_create gave, or
 * NULL for the device's own; work on a stream is done in the order of the calls, work on two in any
 * order.  Only `kernel` and `step` may be NULL.  Everything is [step] unless it says otherwise. */
typedef struct tutti_device_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* How many there are in this machine; 0 is no error.  [control] */
    uint32_t (*count)(void *self);
    /* Fills *ret_info as far as its struct_size goes.  Errors: E_RANGE no such number.  [control] */
    tutti_status (*describe)(void *self, uint32_t index, tutti_device_info *ret_info,
                             tutti_error *err);
    tutti_status (*open)(void *self, uint32_t index, void **ret_device,
                         tutti_error *err); /* [control] */
    /* Waits for its work; memory, streams and events of it are gone.  [control] */
    void (*close)(void *device);

    tutti_status (*memory)(void *device, uint64_t *ret_free, uint64_t *ret_total,
                           tutti_error *err);
    /* `bytes` zeroed bytes; 0 is legal and gives a pointer too.  E_NOMEM says how much was wanted and
     * how much is free. */
    tutti_status (*alloc)(void *device, uint64_t bytes, void **ret_memory, tutti_error *err);
    /* Takes effect once the work that uses it is done.  NULL is allowed. */
    void (*release)(void *device, void *memory);
    /* `how` is TUTTI_COPY_*.  Overlaps are undefined. */
    tutti_status (*copy)(void *device, void *stream, void *to, const void *from, uint64_t bytes,
                         int32_t how, tutti_error *err);
    tutti_status (*fill)(void *device, void *stream, void *memory, uint8_t byte, uint64_t bytes,
                         tutti_error *err);
    /* n uniform f32 in [0, 1): tutti_uniform_f32 of the draws. */
    tutti_status (*random)(void *device, void *stream, float *memory, uint64_t n,
                           const tutti_device_draw *draw, tutti_error *err);

    tutti_status (*stream_create)(void *device, void **ret_stream, tutti_error *err);
    void (*stream_destroy)(void *device,
                           void *stream); /* waits for its work; NULL is allowed */
    tutti_status (*event_create)(void *device, void **ret_event, tutti_error *err);
    void (*event_destroy)(void *device, void *event); /* NULL is allowed */
    /* The event now stands for the work on `stream` so far. */
    tutti_status (*event_record)(void *device, void *event, void *stream, tutti_error *err);
    /* Later work on `stream` begins after the event's. */
    tutti_status (*event_wait)(void *device, void *stream, void *event, tutti_error *err);
    /* 1 when the event's work is done, or it never was recorded; else 0; a negative status when
     * that work failed.  Asks for nothing to be done. */
    int32_t (*event_done)(void *device, void *event);
    /* Waits until the work on `stream`, of NULL: on all streams, is done, and returns the first error
     * of that work since the last such call; a text names the kernel. */
    tutti_status (*synchronise)(void *device, void *stream, tutti_error *err);

    /* The device's own kernel for operation `op` ("conv2d"), or NULL where one named by `kernels`
     * serves.  Its table lives as long as the device. */
    const tutti_kernel *(*kernel)(void *device, const char *op);
    tutti_status (*launch)(void *device, void *stream, const tutti_launch *launch,
                           tutti_error *err);
    /* The end of a training step: what was gathered goes to work.  Need not wait for it.  NULL where
     * nothing is gathered. */
    tutti_status (*step)(void *device, tutti_error *err);
    /* What kernels named "cuda" get; lives as long as the device.  NULL where `kernels` is another
     * word. */
    const tutti_cuda_v1 *(*cuda)(void *device);

    /* From here on NULL stands for what a device has not. */

    /* What `stream` is given from now on is gathered, not done: launches, fills, copies on the device,
     * add, clear_unless and blocks.  Nothing else may be asked of the device meanwhile. */
    tutti_status (*capture_begin)(void *device, void *stream, tutti_error *err);
    /* The end of that.  The graph is the caller's; without ret_graph what was gathered is dropped. */
    tutti_status (*capture_end)(void *device, void *stream, void **ret_graph, tutti_error *err);
    /* Does all that a graph holds, with `step` in the place of that of its launches.  Error
     * E_UNSUPPORTED: nothing was done, this graph is of no use, and another may be gathered. */
    tutti_status (*replay)(void *device, void *stream, void *graph, const tutti_step *step,
                           tutti_error *err);
    void (*graph_destroy)(void *device, void *graph); /* not under way; NULL is allowed */
    /* to[k] += from[k] for n of them. */
    tutti_status (*add)(void *device, void *stream, float *to, const float *from, uint64_t n,
                        tutti_error *err);
    /* `bytes` zeros if *guard is 0 when the device comes to it. */
    tutti_status (*clear_unless)(void *device, void *stream, const float *guard, void *memory,
                                 uint64_t bytes, tutti_error *err);
    /* Memory of the host's between which and the device non-blocking copies are fastest. */
    tutti_status (*host_alloc)(void *device, uint64_t bytes, void **ret_memory,
                               tutti_error *err);
    void (*host_release)(void *device, void *memory); /* not in use; NULL is allowed */
    /* Of what is gathered on `stream`: what it is given behind IF is done only where *guard is not 0
     * when the device comes to that, what it is given behind ELSE only where it is 0, up to END.  There
     * need be no ELSE, and blocks do not nest; `guard` is IF's alone.  Errors: E_UNSUPPORTED, of IF
     * alone: no block here and now, and what follows is done or gathered as ever; others: what was
     * gathered is lost, and who gathers it again may be told so by IF. */
    tutti_status (*block)(void *device, void *stream, int32_t part, const float *guard,
                          tutti_error *err);
#if TUTTI_USE_MINOR >= 1
    /* since 1.1: how many nodes that are launched a graph has, a block counted as one; 0, and a NULL
     * call: not known. */
    uint64_t (*graph_nodes)(void *device, void *graph);
#endif
} tutti_device_v1;

TUTTI_C_END
#endif
