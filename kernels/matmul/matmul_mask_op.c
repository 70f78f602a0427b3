/* matmul_mask_op.c - a product with ReLU that keeps where it was positive, bit by bit; a product times that. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul_inner.h"
#include "matmul/matmul_mask.h"

/* Both stand for nodes of a training step on a GPU, where a library keeps and reads such masks; they come
 * after gradients have been taken. */
static const tutti_attr_field fields[] = {
    OP_FIELD_I64(matmul_attr, transpose_a, 0), OP_FIELD_I64(matmul_attr, transpose_b, 0),
    OP_FIELD_I64(matmul_attr, fast, 0), OP_FIELD_I64(matmul_attr, act, MATMUL_RELU)};

/* Of a product in the shape of `y`. */
static tutti_desc mask_of(const tutti_desc *y)
{
    const int64_t n = y->dim[y->rank - 1];
    return (tutti_desc){{n ? tutti_numel(y) / n : 0, matmul_mask_bytes(n)}, 2, TUTTI_U8};
}

static tutti_status want_relu(const char *op, const matmul_attr *t, tutti_error *err)
{
    return t->act == MATMUL_RELU
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_RANGE, "%s: act is %lld, want 1 (ReLU)", op,
                            (long long)t->act);
}

/* ---- on a CPU: the product, then the bits ---- */

static tutti_status prepare(const char *op, const tutti_op_call *c, uint32_t nin, int64_t act,
                            void **ret_state, uint64_t *ret_scratch, tutti_error *err)
{
    matmul_attr attr = *(const matmul_attr *)c->attr;
    attr.act = act;
    tutti_op_call product = *c;
    product.attr = &attr;
    product.nin = nin;
    return matmul_inner_prepare(op, &product, ret_state, ret_scratch, err);
}

/* ---- matmul_relu: a, b[, bias] -> y = ReLU(a b + bias), mask of y > 0 ---- */

static tutti_status relu_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    tutti_status s = want_relu("matmul_relu", c->attr, err);
    if (!s)
        s = matmul_infer("matmul_relu", c, c->nin, out, err);
    if (!s)
        out[1] = mask_of(&out[0]);
    return s;
}

static tutti_status relu_reference(const tutti_op_call *c, const double *const *in,
                                   double *const *out)
{
    const int64_t n = c->out[0].dim[c->out[0].rank - 1], bytes = c->out[1].dim[1];
    matmul_preactivation_f64(c, c->nin, in, out[0]);
    for (int64_t i = 0, m = tutti_numel(&c->out[1]); i < m; i++)
        out[1][i] = 0.0;
    for (int64_t i = 0, m = tutti_numel(&c->out[0]); i < m; i++)
        if (out[0][i] > 0.0)
            out[1][i / n * bytes + i % n / 8] += (double)(1 << i % n % 8);
        else
            out[0][i] = 0.0;
    return TUTTI_OK;
}

static tutti_status relu_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    return prepare("matmul_relu", c, c->nin, MATMUL_RELU, ret_state, ret_scratch, err);
}

static tutti_status relu_run(void *self, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    const int64_t n = c->out[0].dim[c->out[0].rank - 1], bytes = c->out[1].dim[1];
    const tutti_status status = matmul_inner_run(self, c, in, out, scratch);
    const float *y = out[0];
    unsigned char *mask = out[1];
    for (int64_t k = 0, m = tutti_numel(&c->out[1]); k < m && !status; k++)
        mask[k] = matmul_mask_byte(y + k / bytes * n, k % bytes * 8, n);
    return status;
}

static tutti_status relu_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    if (dy[0])
        matmul_emit_grads(g, n, n->nin, tutti_op2(g, "relu_grad", dy[0], n->out[0]), dx);
    return g->status(g);
}

static const tutti_kernel relu_cpu = {sizeof(tutti_kernel), 0, relu_prepare, relu_run,
                                      matmul_inner_destroy};

OP_TRAITS(matmul_relu, PRODUCT, WHOLE, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER, .low_in = 7,
          .low_out = 1, .flops = matmul_flops);
const tutti_op tutti_op_matmul_relu = {.struct_size = sizeof(tutti_op),
                                       .traits = &matmul_relu_traits,
                                       .flags = 0,
                                       .name = "matmul_relu",
                                       .nin_min = 2,
                                       .nin_max = 3,
                                       .nout = 2,
                                       OP_ATTR(matmul_attr, fields),
                                       .infer = relu_infer,
                                       .vjp = relu_vjp,
                                       .reference = relu_reference,
                                       .cpu = &relu_cpu,
                                       .cuda = &matmul_relu_cuda};

/* ---- matmul_relu_grad: a, b, mask -> a b where its bit is set, 0 elsewhere ---- */

static tutti_status grad_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    char tm[96], tw[96];
    tutti_status s = want_relu("matmul_relu_grad", c->attr, err);
    if (!s)
        s = matmul_infer("matmul_relu_grad", c, 2, out, err);
    if (s)
        return s;
    const tutti_desc want = mask_of(out);
    if (c->in[2].dtype != TUTTI_U8 || !tutti_same_shape(&c->in[2], &want))
        return tutti_fail(err, TUTTI_E_SHAPE, "matmul_relu_grad: the mask is %s, want %s",
                          tutti_desc_text(&c->in[2], tm, sizeof tm),
                          tutti_desc_text(&want, tw, sizeof tw));
    return TUTTI_OK;
}

static tutti_status grad_reference(const tutti_op_call *c, const double *const *in,
                                   double *const *out)
{
    const int64_t n = c->out[0].dim[c->out[0].rank - 1], bytes = c->in[2].dim[1];
    matmul_preactivation_f64(c, 2, in, out[0]);
    for (int64_t i = 0, m = tutti_numel(&c->out[0]); i < m; i++)
        if (!((int)in[2][i / n * bytes + i % n / 8] >> i % n % 8 & 1))
            out[0][i] = 0.0;
    return TUTTI_OK;
}

static tutti_status grad_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    return prepare("matmul_relu_grad", c, 2, MATMUL_NONE, ret_state, ret_scratch, err);
}

static tutti_status grad_run(void *self, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    const int64_t n = c->out[0].dim[c->out[0].rank - 1], bytes = c->in[2].dim[1];
    const tutti_status status = matmul_inner_run(self, c, in, out, scratch);
    const unsigned char *mask = in[2];
    float *y = out[0];
    for (int64_t i = 0, m = tutti_numel(&c->out[0]); i < m && !status; i++)
        if (!(mask[i / n * bytes + i % n / 8] >> i % n % 8 & 1))
            y[i] = 0.0f;
    return status;
}

static const tutti_kernel grad_cpu = {sizeof(tutti_kernel), 0, grad_prepare, grad_run,
                                      matmul_inner_destroy};

OP_TRAITS(matmul_relu_grad, PRODUCT, WHOLE, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER,
          .low_in = 3, .low_out = 1, .flops = matmul_flops);
const tutti_op tutti_op_matmul_relu_grad = {.struct_size = sizeof(tutti_op),
                                            .traits = &matmul_relu_grad_traits,
                                            .flags = 0,
                                            .name = "matmul_relu_grad",
                                            .nin_min = 3,
                                            .nin_max = 3,
                                            .nout = 1,
                                            OP_ATTR(matmul_attr, fields),
                                            .infer = grad_infer,
                                            .reference = grad_reference,
                                            .cpu = &grad_cpu,
                                            .cuda = &matmul_relu_grad_cuda};
