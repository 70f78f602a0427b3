/* elementwise.h - CUDA kernels of elementwise operations: what their descriptors call. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_ELEMENTWISE_H
#define KERNELS_COMMON_CUDA_ELEMENTWISE_H

#include "common/cuda/launch.h"
#include "common/cuda/walk.h"

/* <op>_cuda(walk, inputs, output, attr) of elementwise.cuh, with up to three inputs, is the state. */
static inline tutti_status cuda_map_prepare(const tutti_op_call *c, const char *entry,
                                            uint32_t attr_size, void **ret_state,
                                            tutti_error *err)
{
    uint32_t sizes[CUDA_WALKERS + 3] = {sizeof(cuda_walk)}, n = 1;
    for (uint32_t k = 0; k < c->nin + 1; k++)
        sizes[n++] = sizeof(cuda_tensor);
    sizes[n++] = attr_size;
    return c->cuda->function(c->cuda->ctx, &CUDA_IMAGE, entry, sizes, n, ret_state, err);
}

static inline tutti_status cuda_map_run(void *state, const tutti_op_call *c,
                                        const void *const *in, void *const *out, void *scratch)
{
    (void)scratch;
    cuda_walk walk = cuda_walk_inputs(c);
    cuda_tensor x[CUDA_WALKERS], y = cuda_out(c, out, 0);
    char none = 0;
    void *args[CUDA_WALKERS + 3] = {&walk};
    uint32_t n = 1;
    for (uint32_t k = 0; k < c->nin; k++) {
        x[k] = cuda_in(c, in, k);
        args[n++] = &x[k];
    }
    args[n++] = &y;
    args[n++] = c->attr ? (void *)(uintptr_t)c->attr : &none;
    if (walk.n == 0)
        return TUTTI_OK;
    const uint32_t blocks = cuda_blocks(c->cuda, (walk.n + walk.group - 1) / walk.group);
    return cuda_launch(c->cuda, state, blocks, CUDA_BLOCK, 0, args);
}

#endif
