/* launch.h - launching an operation's device code: what prepare and run of its CUDA kernel call. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_LAUNCH_H
#define KERNELS_COMMON_CUDA_LAUNCH_H

#include "common/cuda/tensor.h"
#include "tutti/cuda.h"
#include "tutti/op.h"

/* Names the folder's <folder>.cu, whose code the device has in a file. */
extern const tutti_cuda_image CUDA_IMAGE;

#define CUDA_BLOCK 256 /* as device.cuh's */

static inline cuda_tensor cuda_in(const tutti_op_call *c, const void *const *in, uint32_t k)
{
    return (cuda_tensor){(void *)(uintptr_t)in[k], c->in[k].dtype, 0};
}

static inline cuda_tensor cuda_out(const tutti_op_call *c, void *const *out, uint32_t k)
{
    return (cuda_tensor){out[k], c->out[k].dtype, 0};
}

/* Blocks that fill the device for n elements, one a thread; at least 1. */
static inline uint32_t cuda_blocks(const tutti_cuda_v1 *cuda, int64_t n)
{
    const int64_t want = (n + CUDA_BLOCK - 1) / CUDA_BLOCK;
    const int64_t most = 16 * (int64_t)cuda->multiprocessors;
    return (uint32_t)(want < 1 ? 1 : want < most ? want : most);
}

/* sizes: of the arguments, as a list: CUDA_FUNCTION(c, "exp", &f, err, 8, 8, 8). */
#define CUDA_FUNCTION(c, entry, ret_function, err, ...)                                        \
    (c)->cuda->function((c)->cuda->ctx, &CUDA_IMAGE, (entry), (const uint32_t[]){__VA_ARGS__}, \
                        (uint32_t)(sizeof(uint32_t[]){__VA_ARGS__} / sizeof(uint32_t)),        \
                        (ret_function), (err))

static inline tutti_status cuda_launch(const tutti_cuda_v1 *cuda, void *function,
                                       uint32_t blocks, uint32_t threads, uint32_t shared,
                                       void *const *args)
{
    const tutti_cuda_launch l = {.struct_size = sizeof l,
                                 .shared = shared,
                                 .grid = {blocks, 1, 1},
                                 .block = {threads, 1, 1},
                                 .function = function,
                                 .args = args};
    return cuda->launch(cuda->ctx, &l);
}

#endif
