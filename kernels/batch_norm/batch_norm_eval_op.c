/* batch_norm_eval_op.c - y = act((x - mean) (var + eps)^-1/2 gamma + beta + residual), all given. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"
#include "common/onnx.h"

#include <math.h>

static const tutti_attr_field fields[] = {OP_FIELD_F64(batch_norm_attr, eps, 1e-5),
                                          OP_FIELD_I64(batch_norm_attr, act, 0)};

static const char *const names[] = {"gamma", "beta", "mean", "var"};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = batch_norm_want("batch_norm_eval", c, names, err);
    if (!s)
        out[0] = c->in[0];
    return s;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const batch_norm_attr *a = c->attr;
    const int64_t n = batch_norm_channels(&c->in[0]);
    for (int64_t i = 0, size = tutti_numel(&c->in[0]); i < size; i++)
        out[0][i] = batch_norm_epilogue_f64(c, in, i,
                                            (in[0][i] - in[3][i % n]) /
                                                    sqrt(in[4][i % n] + a->eps) * in[1][i % n] +
                                                in[2][i % n]);
    return TUTTI_OK;
}

tutti_status batch_norm_apply_all_prepare(const tutti_op_call *c, void **ret_state,
                                          uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_state, (void)err;
    *ret_scratch = ((uint64_t)batch_norm_channels(&c->in[0]) +
                    (uint64_t)c->threads * batch_norm_scratch(c)) *
                   sizeof(float);
    return TUTTI_OK;
}

void batch_norm_apply_all(const tutti_op_call *c, const void *const *in, void *y,
                          const batch_norm_line *line, float *buffers)
{
    const int64_t n = batch_norm_channels(&c->in[0]), rows = batch_norm_rows(&c->in[0]);
    const int threads = op_threads(c, rows * n);
    const int64_t block = batch_norm_block(c);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        int64_t first;
        const int64_t count = op_chunk(rows, t, threads, &first);
        for (int64_t at = 0; at < count; at += block)
            batch_norm_apply_rows(c, in, y, first + at, count - at < block ? count - at : block,
                                  line, buffers + (uint64_t)t * batch_norm_scratch(c));
    }
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const batch_norm_attr *a = c->attr;
    const int64_t n = batch_norm_channels(&c->in[0]);
    const float *gamma = in[1], *var = in[4];
    float *scale = scratch;
    const batch_norm_line line = {in[3], scale, in[2], a->act};
    for (int64_t k = 0; k < n; k++)
        scale[k] = (float)((double)gamma[k] / sqrt((double)var[k] + a->eps));
    batch_norm_apply_all(c, in, out[0], &line, scale + n);
    return TUTTI_OK;
}

static tutti_value channel_sum(tutti_graph *g, tutti_value v)
{
    const tutti_desc d = *g->desc(g, v);
    const int64_t axes[TUTTI_MAX_RANK] = {0, 1, 2, 3, 4, 5};
    return d.rank > 1 ? tutti_reduce(g, "sum", v, axes, (uint32_t)d.rank - 1, 0) : v;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const batch_norm_attr *a = n->attr;
    const tutti_value gamma = n->in[1], mean = n->in[3];
    const tutti_value invstd = tutti_op1(g, "rsqrt", tutti_affine(g, n->in[4], 1.0, a->eps));
    const tutti_value scale = tutti_mul(g, gamma, invstd);
    const tutti_value du = batch_norm_epilogue_grad(g, n, dy[0]);
    tutti_value dgamma = 0, dbeta = 0;
    if (n->need & 18)
        dgamma = channel_sum(
            g, tutti_mul(g, du, tutti_mul(g, tutti_sub(g, n->in[0], mean), invstd)));
    if (n->need & 12)
        dbeta = channel_sum(g, du);
    if (n->need & 1)
        dx[0] = tutti_mul(g, du, scale);
    if (n->need & 2)
        dx[1] = dgamma;
    if (n->need & 4)
        dx[2] = dbeta;
    if (n->need & 8)
        dx[3] = tutti_affine(g, tutti_mul(g, scale, dbeta), -1.0, 0.0);
    if (n->need & 16) { /* invstd by var is -1/2 invstd^3 */
        const tutti_value slope = tutti_mul(g, scale, invstd);
        dx[4] = tutti_affine(g, tutti_mul(g, slope, dgamma), -0.5, 0.0);
    }
    if (n->need & 32)
        dx[5] = du;
    return g->status(g);
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 33, batch_norm_apply_all_prepare, run,
                                 NULL};

static const tutti_fusion batch_norm_eval_fusions[] = {
    {TUTTI_FUSE_RESIDUAL_RELU, 0, "batch_norm_eval"},
    {0, 0, NULL},
};
static tutti_value batch_norm_eval_onnx(const tutti_onnx *o)
{
    const batch_norm_attr *a = o->call->attr;
    const int32_t rank = o->call->in[0].rank;
    const tutti_attr eps = tutti_attr_f("epsilon", a->eps);
    const tutti_value in[5] = {onnx_channel_second(o, o->in[0], rank), o->in[1], o->in[2],
                               o->in[3], o->in[4]};
    tutti_value y = onnx_op(o, "BatchNormalization", in, 5, &eps, 1);
    y = onnx_channel_last(o, y, rank);
    if (o->nin > 5)
        y = onnx_op2(o, "Add", y, o->in[5]);
    return a->act ? onnx_op1(o, "Relu", y) : y;
}

OP_TRAITS(batch_norm_eval, KEEP, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER,
          .fusions = batch_norm_eval_fusions, .onnx = batch_norm_eval_onnx);
const tutti_op tutti_op_batch_norm_eval = {.struct_size = sizeof(tutti_op),
                                           .traits = &batch_norm_eval_traits,
                                           .flags = TUTTI_OP_HALF | TUTTI_OP_REPRODUCIBLE,
                                           .name = "batch_norm_eval",
                                           .nin_min = 5,
                                           .nin_max = 6,
                                           .nout = 1,
                                           .attr_size = sizeof(batch_norm_attr),
                                           .fields = fields,
                                           .nfields = sizeof fields / sizeof *fields,
                                           .infer = infer,
                                           .vjp = vjp,
                                           .reference = reference,
                                           .cpu = &cpu,
                                           .cuda = &batch_norm_eval_cuda};
