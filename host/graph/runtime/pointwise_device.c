/* pointwise_device.c - a fused group as the operation of a device sees it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/pointwise_kernel.h"

const tutti_pointwise_group *pointwise_kernel_describe(const pointwise_kernel *c, pool *memory)
{
    tutti_pointwise_group *whole = pool_take(memory, sizeof *whole);
    tutti_pointwise_op *ops = pool_take(memory, sizeof *ops * c->nops);
    if (!whole || !ops)
        return NULL;
    for (uint32_t k = 0; k < c->nops; k++) {
        const pointwise_op *l = &c->ops[k];
        ops[k] =
            (tutti_pointwise_op){.op = l->node->op,
                                 .attr = l->node->attr,
                                 .out = l->out,
                                 .dtype = l->cast == TUTTI_DTYPE_NONE ? TUTTI_F32 : l->cast};
        for (uint32_t j = 0; j < l->node->nin; j++)
            ops[k].from[j] = l->from[j] < POINTWISE_MAX_IN
                                 ? l->from[j]
                                 : c->nin + l->from[j] - POINTWISE_MAX_IN;
    }
    *whole = (tutti_pointwise_group){sizeof *whole, c->nops, ops};
    return whole;
}
