/* matmul_add_op.c - a product added to what is there: a residual, or a gradient's other part. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul_inner.h"

#include <string.h>

/* In: a, b as for matmul, c in the shape of their product, optionally bias (N).  Out: a b + bias + c.
 * Stands for two nodes that the host found next to each other, where a GPU does both at once. */
static const tutti_attr_field fields[] = {
    OP_FIELD_I64(matmul_attr, transpose_a, 0), OP_FIELD_I64(matmul_attr, transpose_b, 0),
    OP_FIELD_I64(matmul_attr, fast, 0), OP_FIELD_I64(matmul_attr, act, 0)};

enum { ADDED = 2, BIAS = 3 };

/* The inputs as matmul has them. */
static uint32_t product_inputs(uint32_t nin, const tutti_desc *in, tutti_desc to[3])
{
    memcpy(to, in, 2 * sizeof *to);
    if (nin > BIAS)
        to[2] = in[BIAS];
    return nin > BIAS ? 3 : 2;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const matmul_attr *t = c->attr;
    tutti_desc in[3];
    char tc[96], ty[96];
    tutti_op_call product = *c;
    product.nin = product_inputs(c->nin, c->in, in);
    product.in = in;
    if (t->act)
        return tutti_fail(err, TUTTI_E_RANGE, "matmul_add: act is %lld, want 0",
                          (long long)t->act);
    tutti_status s = matmul_infer("matmul_add", &product, product.nin, out, err);
    if (!s && !tutti_same_shape(&c->in[ADDED], out))
        s = tutti_fail(err, TUTTI_E_SHAPE, "matmul_add: c is %s, want the product's %s",
                       tutti_desc_text(&c->in[ADDED], tc, sizeof tc),
                       tutti_desc_text(out, ty, sizeof ty));
    return s ? s : op_want_f32("matmul_add", "c", &c->in[ADDED], err);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const double *const of[3] = {in[0], in[1], c->nin > BIAS ? in[BIAS] : NULL};
    tutti_desc descs[3];
    tutti_op_call product = *c;
    product.nin = product_inputs(c->nin, c->in, descs);
    product.in = descs;
    matmul_preactivation_f64(&product, product.nin, of, out[0]);
    for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n; i++)
        out[0][i] += in[ADDED][i];
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const tutti_value in[3] = {n->in[0], n->in[1], n->nin > BIAS ? n->in[BIAS] : 0};
    tutti_value d[3] = {0};
    tutti_node product = *n;
    product.nin = n->nin > BIAS ? 3 : 2;
    product.in = in;
    product.need = (n->need & 3) | (n->need >> BIAS & 1) << 2;
    if (product.need)
        matmul_emit_grads(g, &product, product.nin, dy[0], d);
    dx[0] = d[0];
    dx[1] = d[1];
    if (n->need & 1u << ADDED)
        dx[ADDED] = dy[0];
    if (n->nin > BIAS)
        dx[BIAS] = d[2];
    return g->status(g);
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const matmul_attr *t = n->attr;
    const tutti_value p = tutti_matmul(g, n->in[0], n->in[1], n->nin > BIAS ? n->in[BIAS] : 0,
                                       t->transpose_a != 0, t->transpose_b != 0);
    ret_out[0] = tutti_add(g, p, n->in[ADDED]);
    return g->status(g);
}

/* ---- on a CPU: one after the other ---- */

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    tutti_desc in[3];
    tutti_op_call product = *c;
    product.nin = product_inputs(c->nin, c->in, in);
    product.in = in;
    return matmul_inner_prepare("matmul_add", &product, ret_state, ret_scratch, err);
}

static void add(const float *c, float *y, int64_t n)
{
    OP_LOOP for (int64_t i = 0; i < n; i++) y[i] += c[i];
}

static tutti_status run(void *self, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    const void *const of[3] = {in[0], in[1], c->nin > BIAS ? in[BIAS] : NULL};
    const tutti_status status = matmul_inner_run(self, c, of, out, scratch);
    if (!status)
        add(in[ADDED], out[0], tutti_numel(&c->out[0]));
    return status;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, matmul_inner_destroy};

static const tutti_fusion matmul_add_fusions[] = {
    {TUTTI_FUSE_FACTOR_SUMS, 0, "matmul_bias_grad"},
    {0, 0, NULL},
};
OP_TRAITS(matmul_add, PRODUCT, WHOLE, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER, .low_in = 0xb,
          .low_out = 1, .flops = matmul_flops, .fusions = matmul_add_fusions);
const tutti_op tutti_op_matmul_add = {.struct_size = sizeof(tutti_op),
                                      .traits = &matmul_add_traits,
                                      .flags = TUTTI_OP_FUSED,
                                      .name = "matmul_add",
                                      .nin_min = 3,
                                      .nin_max = 4,
                                      .nout = 1,
                                      OP_ATTR(matmul_attr, fields),
                                      .infer = infer,
                                      .vjp = vjp,
                                      .decompose = decompose,
                                      .reference = reference,
                                      .cpu = &cpu,
                                      .cuda = &matmul_add_cuda};
