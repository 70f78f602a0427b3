/* layer_norm_op.c - y = (x - mean) rstd gamma + beta over the last dimension. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/half_rows.h"
#include "common/onnx.h"
#include "layer_norm/layer_norm.h"

#include <math.h>
#include <string.h>

enum { LOW = 3 }; /* the result that repeats y */

/* In: x (..., C), gamma, beta (C).  Out: y (..., C), mean, rstd (...), of the biased variance; of layer_norm_cast y once more,
 * which a pass stores in 16 bits. */

static const tutti_attr_field fields[] = {OP_FIELD_F64(layer_norm_attr, eps, 1e-5)};

tutti_status layer_norm_want(const char *op, const tutti_desc *x, tutti_error *err)
{
    char text[96];
    if (x->rank < 1 || layer_norm_width(x) == 0)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "%s: x is %s, want rank 1 or more and no empty rows", op,
                          tutti_desc_text(x, text, sizeof text));
    return op_want_f32(op, "x", x, err);
}

tutti_status layer_norm_want_shape(const char *op, const char *name, const tutti_desc *d,
                                   const tutti_desc *want, tutti_error *err)
{
    char text[96], wanted[96];
    const tutti_desc f32 = {
        {want->dim[0], want->dim[1], want->dim[2], want->dim[3], want->dim[4], want->dim[5]},
        want->rank,
        TUTTI_F32};
    if (tutti_same_shape(d, want) && d->dtype == TUTTI_F32)
        return TUTTI_OK;
    return tutti_fail(err, d->dtype == TUTTI_F32 ? TUTTI_E_SHAPE : TUTTI_E_ARG,
                      "%s: %s is %s, want %s", op, name, tutti_desc_text(d, text, sizeof text),
                      tutti_desc_text(&f32, wanted, sizeof wanted));
}

uint64_t layer_norm_row_bytes(const tutti_desc *x)
{
    return ((uint64_t)layer_norm_width(x) * sizeof(float) + 63) / 64 * 64;
}

uint64_t layer_norm_weight_bytes(const tutti_op_call *c, uint32_t k)
{
    return half_is(c->in[k].dtype) ? layer_norm_row_bytes(&c->in[0]) : 0;
}

const float *layer_norm_weight(const tutti_op_call *c, uint32_t k, const void *data,
                               char **space)
{
    if (!half_is(c->in[k].dtype))
        return data;
    float *own = (float *)*space;
    *space += layer_norm_weight_bytes(c, k);
    return half_read(data, c->in[k].dtype, 0, layer_norm_width(&c->in[0]), own);
}

static tutti_status infer_as(const char *name, const tutti_op_call *c, tutti_desc *out,
                             tutti_error *err)
{
    const tutti_desc *x = &c->in[0];
    tutti_status s = layer_norm_want(name, x, err);
    if (s)
        return s;
    const tutti_desc row = {{layer_norm_width(x)}, 1, TUTTI_F32};
    if ((s = layer_norm_want_shape(name, "gamma", &c->in[1], &row, err)) ||
        (s = layer_norm_want_shape(name, "beta", &c->in[2], &row, err)))
        return s;
    out[0] = *x;
    out[1] = out[2] = layer_norm_batch_dims(x);
    return TUTTI_OK;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    return infer_as("layer_norm", c, out, err);
}

static tutti_status infer_cast(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = infer_as("layer_norm_cast", c, out, err);
    if (!s)
        out[LOW] = out[0];
    return s;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t n = layer_norm_width(&c->in[0]), rows = layer_norm_rows(&c->in[0]);
    for (int64_t r = 0; r < rows; r++) {
        const double *x = in[0] + r * n;
        double mean = 0.0, var = 0.0;
        for (int64_t k = 0; k < n; k++)
            mean += x[k] / (double)n;
        for (int64_t k = 0; k < n; k++)
            var += pow(x[k] - mean, 2.0) / (double)n;
        const double rstd = 1.0 / sqrt(var + ((const layer_norm_attr *)c->attr)->eps);
        for (int64_t k = 0; k < n; k++)
            out[0][r * n + k] = (x[k] - mean) * rstd * in[1][k] + in[2][k];
        out[1][r] = mean;
        out[2][r] = rstd;
    }
    return TUTTI_OK;
}

static tutti_status reference_cast(const tutti_op_call *c, const double *const *in,
                                   double *const *out)
{
    const tutti_status s = reference(c, in, out);
    memcpy(out[LOW], out[0], (size_t)tutti_numel(&c->in[0]) * sizeof(double));
    return s;
}

/* Of one thread: a row as F32, where x or a result has 16 bits. */
static uint64_t own_bytes(const tutti_op_call *c)
{
    const int half = half_is(c->in[0].dtype) || half_is(c->out[0].dtype) ||
                     (c->nout > LOW && half_is(c->out[LOW].dtype));
    return half ? layer_norm_row_bytes(&c->in[0]) : 0;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    *ret_scratch = (uint64_t)c->threads * own_bytes(c) + layer_norm_weight_bytes(c, 1) +
                   layer_norm_weight_bytes(c, 2);
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const int64_t n = layer_norm_width(&c->in[0]), rows = layer_norm_rows(&c->in[0]);
    const int threads = op_threads(c, 2 * rows * n);
    const uint64_t own = own_bytes(c);
    char *space = scratch;
    const float *gamma = layer_norm_weight(c, 1, in[1], &space);
    const float *beta = layer_norm_weight(c, 2, in[2], &space);
    layer_norm_part all = {.x = in[0],
                           .gamma = gamma,
                           .beta = beta,
                           .y = out[0],
                           .mean = out[1],
                           .rstd = out[2],
                           .eps = ((const layer_norm_attr *)c->attr)->eps,
                           .n = n,
                           .x_dtype = c->in[0].dtype,
                           .y_dtype = c->out[0].dtype};
    if (c->nout > LOW) {
        all.low = out[LOW];
        all.low_dtype = c->out[LOW].dtype;
    }
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        layer_norm_part q = all;
        if (own)
            q.row = (float *)(space + (uint64_t)t * own);
        TUTTI_ISA_PICK(layer_norm_forward)(&q, rows * t / threads, rows * (t + 1) / threads);
    }
    return TUTTI_OK;
}

/* A statistic, or its gradient, as a column beside x. */
static tutti_value column(tutti_graph *g, tutti_value v)
{
    tutti_desc d = *g->desc(g, v);
    d.dim[d.rank++] = 1;
    return tutti_reshape(g, v, d.dim, (uint32_t)d.rank);
}

/* dx of the statistics alone: dmean / n - drstd rstd^3 (x - mean) / n; 0 when there is none. */
static tutti_value statistics_grad(tutti_graph *g, const tutti_node *n, const tutti_value *dy)
{
    const tutti_desc x = *g->desc(g, n->in[0]);
    const double each = 1.0 / (double)layer_norm_width(&x);
    tutti_value dx = 0;
    if (dy[2]) {
        const tutti_value r = n->out[2], cube = tutti_mul(g, r, tutti_mul(g, r, r));
        const tutti_value d = tutti_affine(g, tutti_mul(g, cube, dy[2]), -each, 0.0);
        const tutti_value centred = tutti_sub(g, n->in[0], column(g, n->out[1]));
        dx = tutti_mul(g, centred, column(g, d));
    }
    if (dy[1]) {
        const tutti_value d = column(g, tutti_affine(g, dy[1], each, 0.0));
        dx = dx ? tutti_add(g, dx, d) : op_broadcast_dims(g, d, x.dim, x.rank);
    }
    return dx;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    tutti_value d[3] = {0};
    if (dy[0]) {
        const tutti_value in[5] = {n->in[0], dy[0], n->in[1], n->out[1], n->out[2]};
        (void)g->emit(g, "layer_norm_grad", in, 5, NULL, 0, d, 3);
    }
    if (n->need & 1) {
        const tutti_value more = statistics_grad(g, n, dy);
        dx[0] = d[0] && more ? tutti_add(g, d[0], more) : d[0] ? d[0] : more;
    }
    if (n->need & 2)
        dx[1] = d[1];
    if (n->need & 4)
        dx[2] = d[2];
    return g->status(g);
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const double eps = ((const layer_norm_attr *)n->attr)->eps;
    const tutti_desc x = *g->desc(g, n->in[0]);
    const tutti_desc batch_dims = layer_norm_batch_dims(&x);
    const int64_t last = x.rank - 1;
    const tutti_value mean = tutti_reduce(g, "mean", n->in[0], &last, 1, 1);
    const tutti_value centred = tutti_sub(g, n->in[0], mean);
    const tutti_value var =
        tutti_reduce(g, "mean", tutti_mul(g, centred, centred), &last, 1, 1);
    const tutti_value rstd = tutti_op1(g, "rsqrt", tutti_affine(g, var, 1.0, eps));
    const tutti_value xhat = tutti_mul(g, centred, rstd);
    ret_out[0] = tutti_add(g, tutti_mul(g, xhat, n->in[1]), n->in[2]);
    ret_out[1] = tutti_reshape(g, mean, batch_dims.dim, (uint32_t)batch_dims.rank);
    ret_out[2] = tutti_reshape(g, rstd, batch_dims.dim, (uint32_t)batch_dims.rank);
    return g->status(g);
}

static tutti_status decompose_cast(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const tutti_status s = decompose(g, n, ret_out);
    ret_out[LOW] = ret_out[0];
    return s;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 1, prepare, run, NULL};

static tutti_value layer_norm_onnx(const tutti_onnx *o)
{
    const tutti_attr attr[2] = {
        tutti_attr_i("axis", -1),
        tutti_attr_f("epsilon", ((const layer_norm_attr *)o->call->attr)->eps)};
    return onnx_op(o, "LayerNormalization", o->in, o->nin, attr, 2);
}

static const tutti_fusion layer_norm_fusions[] = {
    {TUTTI_FUSE_CAST, 0, "layer_norm_cast"},
    {0, 0, NULL},
};
OP_TRAITS(layer_norm, F32, WHOLE, CONSTANTS, SAME, UNCOUNTED, NONE, OTHER,
          .onnx = layer_norm_onnx, .fusions = layer_norm_fusions);
const tutti_op tutti_op_layer_norm = {.struct_size = sizeof(tutti_op),
                                      .traits = &layer_norm_traits,
                                      .flags = TUTTI_OP_FUSED | TUTTI_OP_HALF |
                                               TUTTI_OP_REPRODUCIBLE,
                                      .name = "layer_norm",
                                      .nin_min = 3,
                                      .nin_max = 3,
                                      .nout = 3,
                                      .attr_size = sizeof(layer_norm_attr),
                                      .fields = fields,
                                      .nfields = sizeof fields / sizeof *fields,
                                      .infer = infer,
                                      .vjp = vjp,
                                      .decompose = decompose,
                                      .reference = reference,
                                      .cpu = &cpu,
                                      .cuda = &layer_norm_cuda};

static void substitute(const tutti_node *n, tutti_substitute *ret)
{
    ret->op = "layer_norm";
    ret->attr[0] = tutti_attr_f("eps", ((const layer_norm_attr *)n->attr)->eps);
    ret->nattr = 1;
}

OP_TRAITS(layer_norm_cast, F32, WHOLE, CONSTANTS, BY, UNCOUNTED, NONE, OTHER,
          .low_out = 1 << LOW, .substitute = substitute);
const tutti_op tutti_op_layer_norm_cast = {.struct_size = sizeof(tutti_op),
                                           .traits = &layer_norm_cast_traits,
                                           .flags = TUTTI_OP_FUSED | TUTTI_OP_HALF |
                                                    TUTTI_OP_REPRODUCIBLE,
                                           .name = "layer_norm_cast",
                                           .nin_min = 3,
                                           .nin_max = 3,
                                           .nout = 4,
                                           .attr_size = sizeof(layer_norm_attr),
                                           .fields = fields,
                                           .nfields = sizeof fields / sizeof *fields,
                                           .infer = infer_cast,
                                           .decompose = decompose_cast,
                                           .reference = reference_cast,
                                           .cpu = &cpu,
                                           .cuda = &layer_norm_cuda};
