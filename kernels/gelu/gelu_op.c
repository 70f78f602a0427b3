/* gelu_op.c - the Gaussian error linear unit, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "gelu/gelu.h"

static const tutti_attr_field fields[] = {OP_FIELD_I64(gelu_attr, approximate, 0)};

/* gelu_grad(dy, x) = dy gelu'(x). */
static tutti_value emit_grad(tutti_graph *g, tutti_value d, tutti_value x, const gelu_attr *a)
{
    const tutti_value in[2] = {d, x};
    const tutti_attr attr = tutti_attr_i("approximate", a->approximate);
    return g->emit(g, "gelu_grad", in, 2, &attr, 1, NULL, 0);
}

/* erf: phi(x) (2 - x^2).  tanh, with u = c (x + k x^3): (1 - t^2) (u' + x u'' / 2 - x t u'^2). */
static tutti_value second(tutti_graph *g, tutti_value x, const gelu_attr *a)
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

static tutti_status gelu_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = emit_grad(g, dy[0], n->in[0], n->attr);
    return TUTTI_OK;
}

static tutti_status gelu_grad_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                                  tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = emit_grad(g, dy[0], n->in[1], n->attr);
    if (n->need & 2)
        dx[1] = tutti_mul(g, tutti_mul(g, dy[0], n->in[0]), second(g, n->in[1], n->attr));
    return TUTTI_OK;
}

OP_UNARY_ATTR(gelu, gelu_attr, fields, 20, gelu_vjp);
OP_GRADIENT_ATTR(gelu_grad, gelu_attr, fields, 24, gelu_grad_vjp);
