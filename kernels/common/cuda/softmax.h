/* softmax.h - CUDA kernels of softmax and its logarithm: what their descriptors call. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_SOFTMAX_H
#define KERNELS_COMMON_CUDA_SOFTMAX_H

#include "common/cuda/rows.h"
#include "common/softmax.h"

/* <op>_rows or <op>_columns of softmax.cuh is the state. */
static inline tutti_status softmax_cuda_prepare(const tutti_op_call *c, const char *rows,
                                                const char *columns, void **ret_state,
                                                tutti_error *err)
{
    const axis_view v = axis_of(&c->in[0], ((const softmax_attr *)c->attr)->axis);
    return CUDA_FUNCTION(c, v.inner == 1 ? rows : columns, ret_state, err, sizeof(cuda_tensor),
                         sizeof(cuda_tensor), sizeof(int64_t), sizeof(int64_t), sizeof(int64_t),
                         sizeof(int32_t));
}

static inline tutti_status softmax_cuda_run(void *state, const tutti_op_call *c,
                                            const void *const *in, void *const *out,
                                            void *scratch)
{
    (void)scratch;
    axis_view v = axis_of(&c->in[0], ((const softmax_attr *)c->attr)->axis);
    cuda_tensor x = cuda_in(c, in, 0), y = cuda_out(c, out, 0);
    int32_t whole = cuda_row_is_whole(v.n);
    void *const args[] = {&x, &y, &v.outer, &v.n, &v.inner, &whole};
    const uint32_t blocks = v.inner == 1 ? cuda_row_blocks(c->cuda, v.outer, whole)
                                         : cuda_blocks(c->cuda, v.outer * v.inner);
    return tutti_numel(&c->in[0]) == 0
               ? TUTTI_OK
               : cuda_launch(c->cuda, state, blocks, CUDA_BLOCK, 0, args);
}

#endif
