/* rms_norm_op.c - y = x rstd gamma over the last dimension. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rms_norm/rms_norm.h"

#include "common/onnx.h"

#include <math.h>

/* In: x (..., C), gamma (C).  Out: y (..., C), rstd (...) = 1 / sqrt(mean x^2 + eps). */

static const tutti_attr_field fields[] = {OP_FIELD_F64(rms_norm_attr, eps, 1e-6)};

tutti_status rms_norm_want(const char *op, const tutti_desc *x, tutti_error *err)
{
    char text[96];
    if (x->rank < 1 || rms_norm_width(x) == 0)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "%s: x is %s, want rank 1 or more and no empty rows", op,
                          tutti_desc_text(x, text, sizeof text));
    return op_want_f32(op, "x", x, err);
}

tutti_status rms_norm_want_shape(const char *op, const char *name, const tutti_desc *d,
                                 const tutti_desc *want, tutti_error *err)
{
    char text[96], wanted[96];
    if (tutti_same_shape(d, want))
        return op_want_f32(op, name, d, err);
    return tutti_fail(err, TUTTI_E_SHAPE, "%s: %s is %s, want %s", op, name,
                      tutti_desc_text(d, text, sizeof text),
                      tutti_desc_text(want, wanted, sizeof wanted));
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_desc *x = &c->in[0];
    tutti_status s = rms_norm_want("rms_norm", x, err);
    if (s)
        return s;
    const tutti_desc row = {{rms_norm_width(x)}, 1, TUTTI_F32};
    if ((s = rms_norm_want_shape("rms_norm", "gamma", &c->in[1], &row, err)))
        return s;
    out[0] = *x;
    out[1] = rms_norm_batch_dims(x);
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t n = rms_norm_width(&c->in[0]), rows = rms_norm_rows(&c->in[0]);
    for (int64_t r = 0; r < rows; r++) {
        const double *x = in[0] + r * n;
        double square = 0.0;
        for (int64_t k = 0; k < n; k++)
            square += x[k] * x[k] / (double)n;
        out[1][r] = 1.0 / sqrt(square + ((const rms_norm_attr *)c->attr)->eps);
        for (int64_t k = 0; k < n; k++)
            out[0][r * n + k] = x[k] * out[1][r] * in[1][k];
    }
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const int64_t n = rms_norm_width(&c->in[0]), rows = rms_norm_rows(&c->in[0]);
    const double eps = ((const rms_norm_attr *)c->attr)->eps;
    const float *x = in[0];
    float *y = out[0], *rstd = out[1];
    const int threads = op_threads(c, 2 * rows * n);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        const int64_t r = rows * t / threads, some = rows * (t + 1) / threads - r;
        TUTTI_ISA_PICK(rms_norm_forward)(x + r * n, in[1], eps, y + r * n, some, n, rstd + r);
    }
    return TUTTI_OK;
}

/* dx of rstd alone: -drstd rstd^3 x / n. */
static tutti_value rstd_grad(tutti_graph *g, const tutti_node *n, tutti_value drstd)
{
    const double each = 1.0 / (double)rms_norm_width(g->desc(g, n->in[0]));
    const tutti_value r = n->out[1], cube = tutti_mul(g, r, tutti_mul(g, r, r));
    const tutti_value d = tutti_affine(g, tutti_mul(g, cube, drstd), -each, 0.0);
    return tutti_mul(g, n->in[0], rms_norm_column(g, d));
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    tutti_value d[2] = {0};
    if (dy[0]) {
        const tutti_value in[4] = {n->in[0], dy[0], n->in[1], n->out[1]};
        (void)g->emit(g, "rms_norm_grad", in, 4, NULL, 0, d, 2);
    }
    if (n->need & 1) {
        const tutti_value more = dy[1] ? rstd_grad(g, n, dy[1]) : 0;
        dx[0] = d[0] && more ? tutti_add(g, d[0], more) : d[0] ? d[0] : more;
    }
    if (n->need & 2)
        dx[1] = d[1];
    return g->status(g);
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const double eps = ((const rms_norm_attr *)n->attr)->eps;
    const tutti_desc x = *g->desc(g, n->in[0]), batch_dims = rms_norm_batch_dims(&x);
    const int64_t last = x.rank - 1;
    const tutti_value square =
        tutti_reduce(g, "mean", tutti_mul(g, n->in[0], n->in[0]), &last, 1, 1);
    const tutti_value rstd = tutti_op1(g, "rsqrt", tutti_affine(g, square, 1.0, eps));
    ret_out[0] = tutti_mul(g, tutti_mul(g, n->in[0], rstd), n->in[1]);
    ret_out[1] = tutti_reshape(g, rstd, batch_dims.dim, (uint32_t)batch_dims.rank);
    return g->status(g);
}

static const tutti_kernel cpu = {.struct_size = sizeof(tutti_kernel), .inplace = 1, .run = run};

static tutti_value rms_norm_onnx(const tutti_onnx *o)
{
    const int64_t last = -1;
    const tutti_attr over = tutti_attr_list("axes", &last, 1);
    const tutti_value square = onnx_op2(o, "Mul", o->in[0], o->in[0]);
    const tutti_value mean = onnx_op(o, "ReduceMean", &square, 1, &over, 1);
    const tutti_value eps = onnx_number(o, ((const rms_norm_attr *)o->call->attr)->eps);
    const tutti_value rms = onnx_op1(o, "Sqrt", onnx_op2(o, "Add", mean, eps));
    return onnx_op2(o, "Mul", onnx_op2(o, "Div", o->in[0], rms), o->in[1]);
}

OP_TRAITS(rms_norm, F32, WHOLE, CONSTANTS, SAME, UNCOUNTED, NONE, OTHER, .onnx = rms_norm_onnx);
const tutti_op tutti_op_rms_norm = {.struct_size = sizeof(tutti_op),
                                    .traits = &rms_norm_traits,
                                    .flags = TUTTI_OP_FUSED | TUTTI_OP_REPRODUCIBLE,
                                    .name = "rms_norm",
                                    .nin_min = 2,
                                    .nin_max = 2,
                                    .nout = 2,
                                    .attr_size = sizeof(rms_norm_attr),
                                    .fields = fields,
                                    .nfields = sizeof fields / sizeof *fields,
                                    .infer = infer,
                                    .vjp = vjp,
                                    .decompose = decompose,
                                    .reference = reference,
                                    .cpu = &cpu,
                                    .cuda = &rms_norm_cuda};
