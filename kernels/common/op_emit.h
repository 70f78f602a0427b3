/* op_emit.h - values that gradient rules emit: scalars, broadcasts and their sums back, comparisons. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_OP_EMIT_H
#define KERNELS_COMMON_OP_EMIT_H

#include "tutti/op.h"

/* The gradient rule of steps and whole numbers: none flows. */
static inline tutti_status op_no_gradient(tutti_graph *g, const tutti_node *n,
                                          const tutti_value *dy, tutti_value *dx)
{
    (void)g, (void)dy;
    for (uint32_t k = 0; k < n->nin; k++)
        dx[k] = 0;
    return TUTTI_OK;
}

/* A scalar constant. */
static inline tutti_value op_scalar(tutti_graph *g, double value)
{
    float x = (float)value;
    const tutti_tensor t = {&x, {{0}, 0, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    return g->constant(g, &t);
}

static inline tutti_value op_broadcast_dims(tutti_graph *g, tutti_value v, const int64_t *dim,
                                            int32_t rank)
{
    const tutti_attr shape = tutti_attr_list("shape", dim, (uint32_t)rank);
    return g->emit(g, "broadcast_to", &v, 1, &shape, 1, NULL, 0);
}

/* The gradient of a broadcast input: `d` summed back to the shape of `v`. */
static inline tutti_value op_sum_to(tutti_graph *g, tutti_value d, tutti_value v)
{
    const tutti_desc want = *g->desc(g, v);
    if (tutti_same_shape(g->desc(g, d), &want))
        return d;
    const tutti_attr shape = tutti_attr_list("shape", want.dim, (uint32_t)want.rank);
    return g->emit(g, "sum_to", &d, 1, &shape, 1, NULL, 0);
}

/* Value `v` spread to the shape of `like`. */
static inline tutti_value op_broadcast_to(tutti_graph *g, tutti_value v, tutti_value like)
{
    const tutti_desc want = *g->desc(g, like);
    return tutti_same_shape(g->desc(g, v), &want)
               ? v
               : op_broadcast_dims(g, v, want.dim, want.rank);
}

enum { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE }; /* kinds of cmp */

static inline tutti_value op_cmp(tutti_graph *g, tutti_value a, tutti_value b, int64_t kind)
{
    const tutti_value in[2] = {a, b};
    const tutti_attr attr = tutti_attr_i("kind", kind);
    return g->emit(g, "cmp", in, 2, &attr, 1, NULL, 0);
}

#endif
