/* axes.h - the attributes and shapes of reductions over axes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_AXES_H
#define KERNELS_COMMON_AXES_H

#include "common/op_util.h"

#include <string.h>

/* axes: which ones (negative: from the end; none: all).  keepdim: they stay, with size 1. */
typedef struct axes_attr {
    tutti_list axes;
    int64_t keepdim;
} axes_attr;

static const tutti_attr_field axes_fields[] = {OP_FIELD_LIST(axes_attr, axes),
                                               OP_FIELD_I64(axes_attr, keepdim, 0)};

/* Flags the reduced axes of `x`. */
static inline tutti_status axes_flags(const char *op, const axes_attr *a, const tutti_desc *x,
                                      int32_t *reduced, tutti_error *err)
{
    for (int32_t k = 0; k < TUTTI_MAX_RANK; k++)
        reduced[k] = a->axes.n == 0;
    for (int64_t k = 0; k < a->axes.n; k++) {
        const int64_t axis = a->axes.v[k] < 0 ? a->axes.v[k] + x->rank : a->axes.v[k];
        if (axis < 0 || axis >= x->rank)
            return tutti_fail(err, TUTTI_E_RANGE, "%s: axis %lld, want one of rank %d", op,
                              (long long)a->axes.v[k], x->rank);
        reduced[axis] = 1;
    }
    return TUTTI_OK;
}

/* Shape of the result; with `keep` as if keepdim were set. */
static inline tutti_status axes_shape(const char *op, const tutti_op_call *c, int keep,
                                      tutti_desc *out, tutti_error *err)
{
    const axes_attr *a = c->attr;
    int32_t reduced[TUTTI_MAX_RANK];
    const tutti_status s = axes_flags(op, a, &c->in[0], reduced, err);
    if (s)
        return s;
    memset(out, 0, sizeof *out);
    out->dtype = c->in[0].dtype;
    for (int32_t k = 0; k < c->in[0].rank; k++)
        if (!reduced[k])
            out->dim[out->rank++] = c->in[0].dim[k];
        else if (keep || a->keepdim)
            out->dim[out->rank++] = 1;
    return TUTTI_OK;
}

/* The gradient `dy` of a reduction, spread over x again. */
static inline tutti_value axes_spread(tutti_graph *g, const tutti_node *n, tutti_value dy)
{
    const axes_attr *a = n->attr;
    const tutti_desc x = *g->desc(g, n->in[0]);
    int32_t reduced[TUTTI_MAX_RANK];
    int64_t kept[TUTTI_MAX_RANK] = {0};
    if (axes_flags("reduce", a, &x, reduced, NULL))
        return 0;
    for (int32_t k = 0; k < x.rank; k++)
        kept[k] = reduced[k] ? 1 : x.dim[k];
    const tutti_attr shape = tutti_attr_list("shape", x.dim, (uint32_t)x.rank);
    dy = tutti_reshape(g, dy, kept, (uint32_t)x.rank);
    return g->emit(g, "broadcast_to", &dy, 1, &shape, 1, NULL, 0);
}

#endif
