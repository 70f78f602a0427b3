/* elementwise.c - the launch of an elementwise operation on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.h"

tutti_status cuda_map_run(void *state, const tutti_op_call *c, const void *const *in,
                          void *const *out, void *scratch)
{
    (void)scratch;
    cuda_index_iter iter = cuda_index_iter_inputs(c);
    cuda_tensor x[CUDA_ITER_OPERANDS], y = cuda_out(c, out, 0);
    char none = 0;
    void *args[CUDA_ITER_OPERANDS + 3] = {&iter};
    uint32_t n = 1;
    for (uint32_t k = 0; k < c->nin; k++) {
        x[k] = cuda_in(c, in, k);
        args[n++] = &x[k];
    }
    args[n++] = &y;
    args[n++] = c->attr ? (void *)(uintptr_t)c->attr : &none;
    if (iter.n == 0)
        return TUTTI_OK;
    const uint32_t blocks = cuda_blocks(c->cuda, (iter.n + iter.group - 1) / iter.group);
    return cuda_launch(c->cuda, state, blocks, CUDA_BLOCK, 0, args);
}
