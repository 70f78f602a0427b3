/* gelu_graph.h - the second derivative of GELU out of simpler operations. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_GELU_GRAPH_H
#define KERNELS_GELU_GRAPH_H

#include "gelu/gelu.h"
#include "tutti/ops.h"

/* erf: phi(x) (2 - x^2).  tanh, with u = c (x + k x^3): (1 - t^2) (u' + x u'' / 2 - x t u'^2). */
static inline tutti_value gelu_second(tutti_graph *g, tutti_value x, const gelu_attr *a)
{
    const tutti_value x2 = tutti_mul(g, x, x);
    if (!a->approximate) {
        const tutti_value e = tutti_op1(g, "exp", tutti_affine(g, x2, -0.5, 0.0));
        return tutti_mul(g, tutti_affine(g, e, GELU_P, 0.0), tutti_affine(g, x2, -1.0, 2.0));
    }
    const tutti_value u = tutti_mul(g, x, tutti_affine(g, x2, GELU_C * GELU_K, GELU_C));
    const tutti_value t = tutti_op1(g, "tanh", u);
    const tutti_value du = tutti_affine(g, x2, 3.0 * GELU_C * GELU_K, GELU_C);
    const tutti_value bend = tutti_affine(g, x2, 3.0 * GELU_C * GELU_K, 0.0); /* x u'' / 2 */
    const tutti_value turn = tutti_mul(g, tutti_mul(g, x, t), tutti_mul(g, du, du));
    return tutti_mul(g, tutti_affine(g, tutti_mul(g, t, t), -1.0, 1.0),
                     tutti_sub(g, tutti_add(g, du, bend), turn));
}

#endif
