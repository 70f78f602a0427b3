/* matmul_act_op.c - a product with its activation, keeping the preactivation; a product times an activation's
 * derivative.  Both stand for two nodes of a training step that the host found next to each other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "gelu/gelu_graph.h"
#include "matmul/matmul.h"
#include "matmul/matmul_epilogue.h"
#include "matmul/matmul_tiles.h"

static const tutti_attr_field fields[] = {
    OP_FIELD_I64(matmul_attr, transpose_a, 0), OP_FIELD_I64(matmul_attr, transpose_b, 0),
    OP_FIELD_I64(matmul_attr, fast, 0), OP_FIELD_I64(matmul_attr, act, MATMUL_NONE)};

static tutti_status want_act(const char *op, const matmul_attr *t, tutti_error *err)
{
    if (t->act > MATMUL_NONE && t->act < MATMUL_ACTS)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_RANGE,
                      "%s: act is %lld, want 1 (ReLU), 2 (GELU) or 3 (GELU, tanh form)", op,
                      (long long)t->act);
}

/* The product alone, of `nin` inputs. */
static tutti_value product(tutti_graph *g, const tutti_node *n, uint32_t nin)
{
    const matmul_attr *t = n->attr;
    return tutti_matmul(g, n->in[0], n->in[1], nin > 2 ? n->in[2] : 0, t->transpose_a != 0,
                        t->transpose_b != 0);
}

/* ---- matmul_act: a, b[, bias] -> y = act(z), z = a b + bias ---- */

static tutti_status act_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    tutti_status s = want_act("matmul_act", c->attr, err);
    if (!s)
        s = matmul_infer("matmul_act", c, c->nin, out, err);
    out[1] = out[0];
    return s;
}

static tutti_status act_reference(const tutti_op_call *c, const double *const *in,
                                  double *const *out)
{
    const matmul_attr *t = c->attr;
    matmul_preactivation_f64(c, c->nin, in, out[1]);
    for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n; i++)
        out[0][i] = matmul_act_f64(out[1][i], t->act);
    return TUTTI_OK;
}

static tutti_status act_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    const matmul_attr *t = n->attr;
    tutti_value dz = dy[1];
    if (dy[0]) {
        const tutti_value d = matmul_emit_act_grad(g, t->act, dy[0], n->out[1]);
        dz = dz ? tutti_add(g, d, dz) : d;
    }
    if (dz)
        matmul_emit_grads(g, n, n->nin, dz, dx);
    return g->status(g);
}

static tutti_status act_decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const matmul_attr *t = n->attr;
    const tutti_attr form = tutti_attr_i("approximate", t->act == MATMUL_GELU_TANH);
    ret_out[1] = product(g, n, n->nin);
    ret_out[0] = t->act == MATMUL_RELU ? tutti_relu(g, ret_out[1])
                                       : g->emit(g, "gelu", &ret_out[1], 1, &form, 1, NULL, 0);
    return g->status(g);
}

/* The activation of what went into it. */
static void matmul_act_substitute(const tutti_node *n, tutti_substitute *ret)
{
    const matmul_attr *a = n->attr;
    const int relu = a->act == TUTTI_ACT_RELU;
    ret->op = relu ? "relu" : "gelu";
    ret->nin = 1;
    ret->in[0] = n->out[1];
    ret->attr[0] = tutti_attr_i("approximate", a->act == TUTTI_ACT_GELU_TANH);
    ret->nattr = !relu;
}

OP_TRAITS(matmul_act, PRODUCT, WHOLE, CONSTANTS, BY_F32, PRODUCTS, NONE, OTHER, .low_in = 7,
          .low_out = 3, .flops = matmul_flops, .substitute = matmul_act_substitute);
const tutti_op tutti_op_matmul_act = {.struct_size = sizeof(tutti_op),
                                      .traits = &matmul_act_traits,
                                      .flags = TUTTI_OP_FUSED | TUTTI_OP_BF16 |
                                               TUTTI_OP_REPRODUCIBLE,
                                      .name = "matmul_act",
                                      .nin_min = 2,
                                      .nin_max = 3,
                                      .nout = 2,
                                      OP_ATTR(matmul_attr, fields),
                                      .infer = act_infer,
                                      .vjp = act_vjp,
                                      .decompose = act_decompose,
                                      .reference = act_reference,
                                      .cpu = &matmul_cpu,
                                      .cuda = &matmul_cuda,
                                      .cpu_algorithms = &matmul_algorithms,
                                      .cpu_packing = &matmul_packing};

/* ---- matmul_act_grad: a, b, x -> (a b) act'(x); for ReLU x may be its result ---- */

static tutti_status grad_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    char tx[96], ty[96];
    tutti_status s = want_act("matmul_act_grad", c->attr, err);
    if (!s)
        s = matmul_infer("matmul_act_grad", c, 2, out, err);
    if (!s && !tutti_same_shape(&c->in[2], out))
        s = tutti_fail(err, TUTTI_E_SHAPE, "matmul_act_grad: x is %s, want the product's %s",
                       tutti_desc_text(&c->in[2], tx, sizeof tx),
                       tutti_desc_text(out, ty, sizeof ty));
    return s ? s : op_want_f32("matmul_act_grad", "x", &c->in[2], err);
}

static tutti_status grad_reference(const tutti_op_call *c, const double *const *in,
                                   double *const *out)
{
    const matmul_attr *t = c->attr;
    matmul_preactivation_f64(c, 2, in, out[0]);
    for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n; i++)
        out[0][i] = matmul_act_grad_f64(out[0][i], in[2][i], t->act);
    return TUTTI_OK;
}

static tutti_status grad_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    const matmul_attr *t = n->attr;
    const gelu_attr form = {t->act == MATMUL_GELU_TANH};
    if (n->need & 3)
        matmul_emit_grads(g, n, 2, matmul_emit_act_grad(g, t->act, dy[0], n->in[2]), dx);
    if (n->need & 4 && t->act != MATMUL_RELU)
        dx[2] = tutti_mul(g, tutti_mul(g, dy[0], product(g, n, 2)),
                          gelu_second(g, n->in[2], &form));
    return g->status(g);
}

static tutti_status grad_decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const matmul_attr *t = n->attr;
    ret_out[0] = matmul_emit_act_grad(g, t->act, product(g, n, 2), n->in[2]);
    return g->status(g);
}

OP_TRAITS(matmul_act_grad, PRODUCT, WHOLE, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER, .low_in = 3,
          .low_out = 1, .flops = matmul_flops);
const tutti_op tutti_op_matmul_act_grad = {.struct_size = sizeof(tutti_op),
                                           .traits = &matmul_act_grad_traits,
                                           .flags = TUTTI_OP_FUSED | TUTTI_OP_BF16 |
                                                    TUTTI_OP_REPRODUCIBLE,
                                           .name = "matmul_act_grad",
                                           .nin_min = 3,
                                           .nin_max = 3,
                                           .nout = 1,
                                           OP_ATTR(matmul_attr, fields),
                                           .infer = grad_infer,
                                           .vjp = grad_vjp,
                                           .decompose = grad_decompose,
                                           .reference = grad_reference,
                                           .cpu = &matmul_act_grad_cpu,
                                           .cuda = &matmul_act_grad_cuda,
                                           .cpu_algorithms = &matmul_act_grad_algorithms,
                                           .cpu_packing = &matmul_packing};
