/* clamp_op.c - x kept within [min, max]. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

typedef struct clamp_attr {
    double min;
    double max;
} clamp_attr;

static const tutti_attr_field fields[] = {OP_FIELD_F64(clamp_attr, min, -INFINITY),
                                          OP_FIELD_F64(clamp_attr, max, INFINITY)};

static tutti_status clamp_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                              tutti_value *dx)
{
    /* 1 where x was left alone: clamp(x) == x */
    const tutti_value pair[2] = {n->in[0], n->out[0]};
    const tutti_attr kind = tutti_attr_i("kind", 0);
    if (n->need & 1)
        dx[0] = tutti_mul(g, dy[0], g->emit(g, "cmp", pair, 2, &kind, 1, NULL, 0));
    return TUTTI_OK;
}

OP_UNARY_ATTR(clamp, clamp_attr, fields, 2,
              x<(float)a->min ? (float)a->min : x>(float) a->max ? (float)a->max : x,
              x<a->min ? a->min : x> a->max ? a->max : x, clamp_vjp)
