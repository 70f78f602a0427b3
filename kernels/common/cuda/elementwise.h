/* elementwise.h - CUDA kernels of unary operations: what their descriptors call. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_ELEMENTWISE_H
#define KERNELS_COMMON_CUDA_ELEMENTWISE_H

#include "common/cuda/launch.h"

/* <op>_cuda(x, y, n, attr) of elementwise.cuh is the state. */
static inline tutti_status cuda_unary_prepare(const tutti_op_call *c, const char *entry,
                                              uint32_t attr_size, void **ret_state,
                                              tutti_error *err)
{
    return CUDA_FUNCTION(c, entry, ret_state, err, sizeof(cuda_tensor), sizeof(cuda_tensor),
                         sizeof(int64_t), attr_size);
}

static inline tutti_status cuda_unary_run(void *state, const tutti_op_call *c,
                                          const void *const *in, void *const *out,
                                          void *scratch)
{
    (void)scratch;
    cuda_tensor x = cuda_in(c, in, 0), y = cuda_out(c, out, 0);
    int64_t n = tutti_numel(&c->in[0]);
    char none = 0;
    void *const args[] = {&x, &y, &n, c->attr ? (void *)(uintptr_t)c->attr : &none};
    return n == 0 ? TUTTI_OK
                  : cuda_launch(c->cuda, state, cuda_blocks(c->cuda, n), CUDA_BLOCK, 0, args);
}

#endif
