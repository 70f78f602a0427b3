/* cuda.h - tutti.cuda/1: how a kernel of an operation reaches the CUDA device that it runs on. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_CUDA_H
#define TUTTI_CUDA_H

#include "base.h"

TUTTI_C_BEGIN

#define TUTTI_CUDA_V1 "tutti.cuda/1"

struct tutti_step;

enum {
    TUTTI_CUDA_TF32 = 1u << 0,     /* sums of products of F32 may round their factors to TF32 */
    TUTTI_CUDA_UNORDERED = 1u << 1 /* sums may be taken in another order from run to run */
};

#if TUTTI_USE_MINOR >= 1
/* since 1.1: nothing that a library is meant for runs without it: where a kernel says that it was refused
 * (tutti_op_choice), the host makes no plan. */
enum { TUTTI_CUDA_LIBRARIES = 1u << 2 };
#endif

/* Device code: a fatbin or cubin.  Lives as long as the program. */
typedef struct tutti_cuda_image {
    const void *data; /* NULL: this build was made without a CUDA compiler */
    uint64_t bytes;
    const char *name; /* "kernels/exp", for messages */
} tutti_cuda_image;

/* One call of a device function. */
typedef struct tutti_cuda_launch {
    uint32_t struct_size;
    uint32_t shared; /* bytes of dynamic shared memory */
    uint32_t grid[3];
    uint32_t block[3];
    void *function;    /* what `function` gave */
    void *const *args; /* args[k] points to argument k; read before launch returns */
} tutti_cuda_launch;

/* The device owns it; prepare and run of kernels get it as tutti_op_call.cuda.  Memory that a kernel
 * is given is the device's; it is never read or written by the host.  run may be called while the
 * device gathers a graph, so it only launches, and what changes from run to run is read by the device
 * from `step`.  Errors of a launch are kept by the device, which names the kernel when it reports. */
typedef struct tutti_cuda_v1 {
    uint32_t struct_size;
    int32_t capability;      /* 90: compute capability 9.0 */
    int32_t multiprocessors; /* at least 1 */
    uint32_t shared_bytes;   /* of dynamic shared memory that a block may ask for */
    void *ctx;
    /* Device memory: *call->step as it is when the kernel runs. */
    const struct tutti_step *step;
    /* Device memory: where a kernel that finds a number out of range writes `mark` (as it is in run,
     * passed to the kernel by value).  synchronise then fails with E_RANGE and names the kernel. */
    uint32_t *fault;
    uint32_t mark; /* of the call of run under way; changes from launch to launch */
    uint32_t reserved;
    /* The function `entry` of `image`, which has nargs arguments of these sizes in bytes; the image is
     * loaded once.  Errors: NOTFOUND, ARG when the sizes differ, UNSUPPORTED when data is NULL or holds
     * no code for this device.  [control] */
    tutti_status (*function)(void *ctx, const tutti_cuda_image *image, const char *entry,
                             const uint32_t *sizes, uint32_t nargs, void **ret_function,
                             tutti_error *err);
    tutti_status (*launch)(void *ctx, const tutti_cuda_launch *launch); /* [step] */
    /* The stream (a cudaStream_t) on which run's work belongs.  [step] */
    void *(*stream)(void *ctx);
    /* A function of a library of NVIDIA's: "cudart", "cublasLt", "cudnn", "nvrtc".  NOTFOUND says which file was
     * looked for.  [control] */
    tutti_status (*symbol)(void *ctx, const char *library, const char *name, void **ret_symbol,
                           tutti_error *err);
    /* An object that belongs to the device, such as a library's handle: the first call with this key
     * makes it, closing the device destroys it.  [control] */
    tutti_status (*object)(void *ctx, const void *key,
                           tutti_status (*make)(const struct tutti_cuda_v1 *cuda,
                                                void **ret_object, tutti_error *err),
                           void (*destroy)(void *object), void **ret_object, tutti_error *err);
    uint32_t allow; /* TUTTI_CUDA_*: what the user leaves to kernels */
    uint32_t reserved2;
    /* What was chosen under `key` before, on a device of this name: a text of less than `size` bytes.
     * NOTFOUND: nothing, so measure and `keep`; UNSUPPORTED: nothing is to be measured, so take the
     * first.  Keys and choices have no tabs and no ends of lines.  [control] */
    tutti_status (*recall)(void *ctx, const char *key, char *ret_choice, uint64_t size);
    /* Keeps `choice`, from now on and for later runs; where another process was first, `choice`
     * becomes what that has kept.  After an error the first is to be taken, as other runs will.
     * [control] */
    tutti_status (*keep)(void *ctx, const char *key, char *choice, uint64_t size,
                         tutti_error *err);
} tutti_cuda_v1;

TUTTI_C_END
#endif
