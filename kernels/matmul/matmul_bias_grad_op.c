/* matmul_bias_grad_op.c - the gradients of a weight (a product) and of its bias (the sums of one factor of it). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul_inner.h"

/* In: matrices a, b as for matmul, optionally c in the shape of their product.  Out: a b + c, and the sums
 * over what is multiplied: of a (M), or with `of` 1 of b (N).  Stands for two nodes that the host found
 * next to each other, where a GPU does both at once. */
static const tutti_attr_field fields[] = {
    OP_FIELD_I64(matmul_attr, transpose_a, 0), OP_FIELD_I64(matmul_attr, transpose_b, 0),
    OP_FIELD_I64(matmul_attr, fast, 0), OP_FIELD_I64(matmul_attr, act, 0),
    OP_FIELD_I64(matmul_attr, of, 0)};

enum { ADDED = 2 };

/* Of factor `of`: the dimension that is multiplied over. */
static int32_t summed(const matmul_attr *t)
{
    return t->of ? t->transpose_b != 0 : t->transpose_a == 0;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const matmul_attr *t = c->attr;
    char ta[96], tb[96];
    if (t->act)
        return tutti_fail(err, TUTTI_E_RANGE, "matmul_bias_grad: act is %lld, want 0",
                          (long long)t->act);
    if (t->of != 0 && t->of != 1)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "matmul_bias_grad: of is %lld, want 0 (a) or 1 (b)",
                          (long long)t->of);
    tutti_status s = matmul_infer("matmul_bias_grad", c, 2, out, err);
    if (!s && (c->in[0].rank != 2 || c->in[1].rank != 2))
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "matmul_bias_grad: a is %s and b is %s, want rank 2",
                          tutti_desc_text(&c->in[0], ta, sizeof ta),
                          tutti_desc_text(&c->in[1], tb, sizeof tb));
    if (!s && c->nin > ADDED && !tutti_same_shape(&c->in[ADDED], out))
        return tutti_fail(
            err, TUTTI_E_SHAPE, "matmul_bias_grad: c is %s, want the product's %s",
            tutti_desc_text(&c->in[ADDED], ta, sizeof ta), tutti_desc_text(out, tb, sizeof tb));
    if (!s && c->nin > ADDED)
        s = op_want_f32("matmul_bias_grad", "c", &c->in[ADDED], err);
    if (!s)
        out[1] = (tutti_desc){{c->in[t->of].dim[1 - summed(t)]}, 1, TUTTI_F32};
    return s;
}

/* One number of the sums: they begin at x, `step` apart, and there are n. */
#define SUM(T, x, step, n)                                                                     \
    double sum = 0.0;                                                                          \
    for (int64_t k = 0; k < (n); k++)                                                          \
        sum += (double)((const T *)(x))[k * (step)];

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const matmul_attr *t = c->attr;
    const int64_t *dim = c->in[t->of].dim;
    const int along = summed(t) != 0;
    matmul_preactivation_f64(c, 2, in, out[0]);
    for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n && c->nin > ADDED; i++)
        out[0][i] += in[ADDED][i];
    for (int64_t i = 0; i < dim[!along]; i++) {
        SUM(double, in[t->of] + (along ? i * dim[1] : i), along ? 1 : dim[1], dim[along])
        out[1][i] = sum;
    }
    return TUTTI_OK;
}

/* The gradient of sums, as that of the factor. */
static tutti_value spread(tutti_graph *g, const tutti_node *n, tutti_value ds)
{
    const matmul_attr *t = n->attr;
    const tutti_desc factor = *g->desc(g, n->in[t->of]);
    const int64_t column[2] = {factor.dim[0], 1};
    const tutti_attr shape = tutti_attr_list("shape", factor.dim, 2);
    const tutti_value v = summed(t) ? tutti_reshape(g, ds, column, 2) : ds;
    return g->emit(g, "broadcast_to", &v, 1, &shape, 1, NULL, 0);
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const matmul_attr *t = n->attr;
    tutti_node product = *n;
    product.nin = 2;
    product.need = n->need & 3;
    if (dy[0] && product.need)
        matmul_emit_grads(g, &product, 2, dy[0], dx);
    if (dy[0] && n->need & 1u << ADDED)
        dx[ADDED] = dy[0];
    if (dy[1] && n->need >> t->of & 1) {
        const tutti_value d = spread(g, n, dy[1]);
        dx[t->of] = dx[t->of] ? tutti_add(g, dx[t->of], d) : d;
    }
    return g->status(g);
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const matmul_attr *t = n->attr;
    const int64_t axis = summed(t);
    const tutti_value p =
        tutti_matmul(g, n->in[0], n->in[1], 0, t->transpose_a != 0, t->transpose_b != 0);
    ret_out[0] = n->nin > ADDED ? tutti_add(g, p, n->in[ADDED]) : p;
    ret_out[1] = tutti_reduce(g, "sum", n->in[t->of], &axis, 1, 0);
    return g->status(g);
}

/* ---- on a CPU: one after the other ---- */

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    tutti_op_call product = *c;
    product.nin = 2;
    return matmul_inner_prepare("matmul_bias_grad", &product, ret_state, ret_scratch, err);
}

static tutti_status run(void *self, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    const matmul_attr *t = c->attr;
    const int64_t *dim = c->in[t->of].dim;
    const int along = summed(t) != 0;
    float *y = out[0], *bias_grad = out[1];
    const tutti_status status = matmul_inner_run(self, c, in, out, scratch);
    if (status)
        return status;
    for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n && c->nin > ADDED; i++)
        y[i] += ((const float *)in[ADDED])[i];
    for (int64_t i = 0; i < dim[!along]; i++) {
        SUM(float, (const float *)in[t->of] + (along ? i * dim[1] : i), along ? 1 : dim[1],
            dim[along])
        bias_grad[i] = (float)sum;
    }
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, matmul_inner_destroy};

OP_TRAITS(matmul_bias_grad, PRODUCT, WHOLE, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER,
          .low_in = 3, .low_out = 1, .flops = matmul_flops);
const tutti_op tutti_op_matmul_bias_grad = {.struct_size = sizeof(tutti_op),
                                            .traits = &matmul_bias_grad_traits,
                                            .flags = TUTTI_OP_FUSED,
                                            .name = "matmul_bias_grad",
                                            .nin_min = 2,
                                            .nin_max = 3,
                                            .nout = 2,
                                            OP_ATTR(matmul_attr, fields),
                                            .infer = infer,
                                            .vjp = vjp,
                                            .decompose = decompose,
                                            .reference = reference,
                                            .cpu = &cpu,
                                            .cuda = &matmul_bias_grad_cuda};
