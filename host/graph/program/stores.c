/* stores.c - kernels of what a program writes for others: copies, sums, zeros. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/program_internal.h"

#include <string.h>

tutti_status store_copy(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    if (in[0] != out[0])
        memcpy(out[0], in[0], tutti_nbytes(&c->in[0]));
    return TUTTI_OK;
}

tutti_status store_add(void *state, const tutti_op_call *c, const void *const *in,
                       void *const *out, void *scratch)
{
    const float *restrict x = in[0];
    float *restrict y = out[0];
    for (int64_t k = 0, n = tutti_numel(&c->in[0]); k < n; k++)
        y[k] += x[k];
    return TUTTI_OK;
}

tutti_status store_zero(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    memset(out[0], 0, (size_t)c->in[0].dim[0]);
    return TUTTI_OK;
}
