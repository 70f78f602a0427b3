/* pow_op.c - a to the power b, broadcast, and its gradients. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "pow/pow.h"

/* da = dy b a^(b-1), 0 where b is 0; db = dy a^b log a, 0 where a is not above 0. */
static tutti_status pow_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    const tutti_value a = n->in[0], b = n->in[1], zero = op_scalar(g, 0.0);
    if (n->need & 1) {
        const tutti_value less = tutti_op2(g, "pow", a, tutti_affine(g, b, 1.0, -1.0));
        const tutti_value slope[3] = {op_cmp(g, b, zero, CMP_EQ), zero, tutti_mul(g, b, less)};
        const tutti_value safe = g->emit(g, "where", slope, 3, NULL, 0, NULL, 0);
        dx[0] = op_sum_to(g, tutti_mul(g, dy[0], safe), a);
    }
    if (n->need & 2) {
        const tutti_value base[3] = {op_cmp(g, a, zero, CMP_GT), a, op_scalar(g, 1.0)};
        const tutti_value l =
            tutti_op1(g, "log", g->emit(g, "where", base, 3, NULL, 0, NULL, 0));
        dx[1] = op_sum_to(g, tutti_mul(g, dy[0], tutti_mul(g, n->out[0], l)), b);
    }
    return TUTTI_OK;
}

OP_POINTWISE(pow, F32, .onnx_type = "Pow");
/* Not reproducible: powf is libm's. */
OP_BINARY(pow, 40, 0, pow_vjp);
