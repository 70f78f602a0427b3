/* elementwise.h - CUDA kernels of elementwise operations: what their descriptors call. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_ELEMENTWISE_H
#define KERNELS_COMMON_CUDA_ELEMENTWISE_H

#include "common/cuda/index_iter.h"
#include "common/cuda/launch.h"

/* <op>_cuda(iter, inputs, output, attr) of elementwise.cuh, with up to three inputs, is the state. */
static inline tutti_status cuda_map_prepare(const tutti_op_call *c, const char *entry,
                                            uint32_t attr_size, void **ret_state,
                                            tutti_error *err)
{
    uint32_t sizes[CUDA_ITER_OPERANDS + 3] = {sizeof(cuda_index_iter)}, n = 1;
    for (uint32_t k = 0; k < c->nin + 1; k++)
        sizes[n++] = sizeof(cuda_tensor);
    sizes[n++] = attr_size;
    return c->cuda->function(c->cuda->ctx, &CUDA_IMAGE, entry, sizes, n, ret_state, err);
}

tutti_status cuda_map_run(void *state, const tutti_op_call *c, const void *const *in,
                          void *const *out, void *scratch);

#endif
