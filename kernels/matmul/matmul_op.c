/* matmul_op.c - act(a (..., M, K) times b (..., K, N) plus bias (N)) -> (..., M, N). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/onnx.h"
#include "matmul/matmul.h"
#include "matmul/matmul_epilogue.h"
#include "matmul/matmul_tiles.h"

static const tutti_attr_field fields[] = {
    OP_FIELD_I64(matmul_attr, transpose_a, 0), OP_FIELD_I64(matmul_attr, transpose_b, 0),
    OP_FIELD_I64(matmul_attr, fast, 0), OP_FIELD_I64(matmul_attr, act, 0)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const matmul_attr *t = c->attr;
    if (t->act < 0 || t->act >= MATMUL_ACTS)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "matmul: act is %lld, want 0 (none), 1 (ReLU), 2 (GELU) or 3 (GELU, "
                          "tanh form)",
                          (long long)t->act);
    return matmul_infer("matmul", c, c->nin, out, err);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const matmul_attr *t = c->attr;
    matmul_preactivation_f64(c, c->nin, in, out[0]);
    for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n; i++)
        out[0][i] = matmul_act_f64(out[0][i], t->act);
    return TUTTI_OK;
}

static tutti_value sum_to(tutti_graph *g, tutti_value v, const tutti_desc *want)
{
    if (tutti_same_shape(g->desc(g, v), want))
        return v;
    const tutti_attr shape = tutti_attr_list("shape", want->dim, (uint32_t)want->rank);
    return g->emit(g, "sum_to", &v, 1, &shape, 1, NULL, 0);
}

/* All dimensions but the last become rows. */
static tutti_value flat(tutti_graph *g, tutti_value v)
{
    const tutti_desc d = *g->desc(g, v);
    const int64_t last = d.rank ? d.dim[d.rank - 1] : 1;
    const int64_t shape[2] = {last ? tutti_numel(&d) / last : 0, last};
    return d.rank <= 2 ? v : tutti_reshape(g, v, shape, 2);
}

static tutti_value grad_a(tutti_graph *g, const tutti_node *n, tutti_value dy)
{
    const matmul_attr *t = n->attr;
    const tutti_desc a = *g->desc(g, n->in[0]);
    const int32_t tb = t->transpose_b != 0;
    const tutti_value d = t->transpose_a ? tutti_matmul(g, n->in[1], dy, 0, tb, 1)
                                         : tutti_matmul(g, dy, n->in[1], 0, 0, !tb);
    return sum_to(g, d, &a);
}

static tutti_value grad_b(tutti_graph *g, const tutti_node *n, tutti_value dy)
{
    const matmul_attr *t = n->attr;
    const tutti_desc b = *g->desc(g, n->in[1]);
    const int32_t ta = t->transpose_a != 0;
    tutti_value a = n->in[0];
    if (b.rank == 2 && !ta) { /* one long product instead of many, summed */
        a = flat(g, a);
        dy = flat(g, dy);
    }
    const tutti_value d =
        t->transpose_b ? tutti_matmul(g, dy, a, 0, 1, ta) : tutti_matmul(g, a, dy, 0, !ta, 0);
    return sum_to(g, d, &b);
}

void matmul_emit_grads(tutti_graph *g, const tutti_node *n, uint32_t nin, tutti_value dz,
                       tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = grad_a(g, n, dz);
    if (n->need & 2)
        dx[1] = grad_b(g, n, dz);
    if (n->need & 4 && nin > 2) {
        const tutti_desc bias = *g->desc(g, n->in[2]);
        dx[2] = sum_to(g, dz, &bias);
    }
}

tutti_value matmul_emit_act_grad(tutti_graph *g, int64_t act, tutti_value dy, tutti_value x)
{
    const tutti_value in[2] = {dy, x};
    const tutti_attr form = tutti_attr_i("approximate", act == MATMUL_GELU_TANH);
    return act == MATMUL_RELU ? tutti_op2(g, "relu_grad", dy, x)
                              : g->emit(g, "gelu_grad", in, 2, &form, 1, NULL, 0);
}

/* GELU forgets what it came from: the preactivation is computed once more. */
static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const matmul_attr *t = n->attr;
    tutti_value dz = dy[0], z = n->out[0];
    if (t->act > MATMUL_RELU)
        z = tutti_matmul(g, n->in[0], n->in[1], n->nin > 2 ? n->in[2] : 0, t->transpose_a != 0,
                         t->transpose_b != 0);
    if (t->act)
        dz = matmul_emit_act_grad(g, t->act, dz, z);
    matmul_emit_grads(g, n, n->nin, dz, dx);
    return g->status(g);
}

static const tutti_fusion matmul_fusions[] = {
    {TUTTI_FUSE_ACTIVATION, 0, "matmul"},
    {TUTTI_FUSE_ACTIVATION_KEPT, 0, "matmul_act"},
    {TUTTI_FUSE_ACTIVATION_MASK, 0, "matmul_relu"},
    {TUTTI_FUSE_MASK_GRAD, 0, "matmul_relu_grad"},
    {TUTTI_FUSE_ACTIVATION_GRAD, 0, "matmul_act_grad"},
    {TUTTI_FUSE_ADD, 0, "matmul_add"},
    {TUTTI_FUSE_FACTOR_SUMS, 0, "matmul_bias_grad"},
    {0, 0, NULL},
};
/* The last two dimensions of operand k swapped. */
static tutti_value transposed(const tutti_onnx *o, uint32_t k)
{
    const int32_t rank = o->call->in[k].rank;
    int64_t order[TUTTI_MAX_RANK];
    for (int32_t j = 0; j < rank; j++)
        order[j] = j < rank - 2 ? j : 2 * rank - 3 - j;
    return onnx_transpose(o, o->in[k], order, rank);
}

static tutti_value matmul_onnx(const tutti_onnx *o)
{
    const matmul_attr *a = o->call->attr;
    const tutti_desc *d = o->call->in;
    if (d[0].rank == 2 && d[1].rank == 2) {
        const tutti_attr attr[2] = {tutti_attr_i("transA", a->transpose_a),
                                    tutti_attr_i("transB", a->transpose_b)};
        return onnx_op(o, "Gemm", o->in, o->nin, attr, 2);
    }
    const tutti_value x = a->transpose_a ? transposed(o, 0) : o->in[0];
    const tutti_value y =
        onnx_op2(o, "MatMul", x, a->transpose_b ? transposed(o, 1) : o->in[1]);
    return o->nin > 2 ? onnx_op2(o, "Add", y, o->in[2]) : y;
}

OP_TRAITS(matmul, PRODUCT, WHOLE, CONSTANTS, NEVER, PRODUCTS, NONE, OTHER, .low_in = 7,
          .low_out = 1, .flops = matmul_flops, .fusions = matmul_fusions, .onnx = matmul_onnx);
const tutti_op tutti_op_matmul = {.struct_size = sizeof(tutti_op),
                                  .traits = &matmul_traits,
                                  .flags = TUTTI_OP_BF16 | TUTTI_OP_REPRODUCIBLE,
                                  .name = "matmul",
                                  .nin_min = 2,
                                  .nin_max = 3,
                                  .nout = 1,
                                  .attr_size = sizeof(matmul_attr),
                                  .fields = fields,
                                  .nfields = sizeof fields / sizeof *fields,
                                  .infer = infer,
                                  .vjp = vjp,
                                  .reference = reference,
                                  .cpu = &matmul_cpu,
                                  .cuda = &matmul_cuda,
                                  .cpu_algorithms = &matmul_algorithms,
                                  .cpu_packing = &matmul_packing};
