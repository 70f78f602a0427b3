/* batch_norm_op.c - y = act((x - mean) invstd gamma + beta + residual), with the batch's statistics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"
#include "tutti_internal/op_slots.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <omp.h>

/* In: x (..., C), gamma, beta, running_mean, running_var (C), optionally residual (..., C).
 * Out: y (..., C), mean, invstd, new running_mean, new running_var (C).
 * The running variance takes the unbiased variance; no rows leave the running values alone. */

static const tutti_attr_field fields[] = {OP_FIELD_F64(batch_norm_attr, eps, 1e-5),
                                          OP_FIELD_F64(batch_norm_attr, momentum, 0.1),
                                          OP_FIELD_I64(batch_norm_attr, act, 0)};

static const char *const names[] = {"gamma", "beta", "running_mean", "running_var"};

tutti_status batch_norm_want_channels(const char *op, const tutti_op_call *c, uint32_t first,
                                      uint32_t last, const char *const *input_names,
                                      tutti_error *err)
{
    const tutti_desc *x = &c->in[0];
    char text[96];
    if (x->rank < 1)
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: x is %s, want rank 1 or more", op,
                          tutti_desc_text(x, text, sizeof text));
    tutti_status s = op_want_f32(op, "x", x, err);
    for (uint32_t k = first; k < last && !s; k++) {
        const tutti_desc *d = &c->in[k];
        if (d->rank != 1 || d->dim[0] != batch_norm_channels(x))
            return tutti_fail(err, TUTTI_E_SHAPE, "%s: %s is %s, want (%lld)", op,
                              input_names[k - first], tutti_desc_text(d, text, sizeof text),
                              (long long)batch_norm_channels(x));
        s = op_want_f32(op, input_names[k - first], d, err);
    }
    return s;
}

tutti_status batch_norm_want_act(const char *op, int64_t act, tutti_error *err)
{
    if (act == 0 || act == 1)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_RANGE, "%s: act is %lld, want 0 (none) or 1 (ReLU)", op,
                      (long long)act);
}

tutti_status batch_norm_want(const char *op, const tutti_op_call *c,
                             const char *const *input_names, tutti_error *err)
{
    const batch_norm_attr *a = c->attr;
    tutti_status s = batch_norm_want_channels(op, c, 1, 5, input_names, err);
    if (!s)
        s = batch_norm_want_act(op, a->act, err);
    if (!s && c->nin > 5)
        s = op_want_same(op, "x", &c->in[0], "residual", &c->in[5], err);
    if (!s && c->nin > 5)
        s = op_want_f32(op, "residual", &c->in[5], err);
    return s;
}

double batch_norm_epilogue_f64(const tutti_op_call *c, const double *const *in, int64_t i,
                               double u)
{
    const batch_norm_attr *a = c->attr;
    const double v = c->nin > 5 ? u + in[5][i] : u;
    return a->act && v < 0.0 ? 0.0 : v;
}

tutti_value batch_norm_epilogue(tutti_graph *g, const tutti_node *n, tutti_value u)
{
    const batch_norm_attr *a = n->attr;
    const tutti_value v = n->nin > 5 ? tutti_add(g, u, n->in[5]) : u;
    return a->act ? tutti_relu(g, v) : v;
}

tutti_value batch_norm_epilogue_grad(tutti_graph *g, const tutti_node *n, tutti_value dy)
{
    const batch_norm_attr *a = n->attr;
    return a->act ? tutti_op2(g, "relu_grad", dy, n->out[0]) : dy;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = batch_norm_want("batch_norm", c, names, err);
    if (s)
        return s;
    out[0] = c->in[0];
    for (int k = 1; k < 5; k++)
        out[k] = c->in[1];
    return TUTTI_OK;
}

/* What turns the variance over n into the one over n - 1; a single row has none. */
static double unbiased(int64_t rows)
{
    return rows > 1 ? (double)rows / (double)(rows - 1) : 1.0;
}

static double weight_of_new(const batch_norm_attr *a, int64_t rows)
{
    return rows ? a->momentum : 0.0;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const batch_norm_attr *a = c->attr;
    const int64_t n = batch_norm_channels(&c->in[0]), rows = batch_norm_rows(&c->in[0]);
    const double m = weight_of_new(a, rows);
    for (int64_t k = 0; k < n; k++) {
        double mean = 0.0, var = 0.0;
        for (int64_t r = 0; r < rows; r++)
            mean += in[0][r * n + k] / (double)rows;
        for (int64_t r = 0; r < rows; r++)
            var += pow(in[0][r * n + k] - mean, 2.0) / (double)rows;
        const double invstd = 1.0 / sqrt(var + a->eps);
        for (int64_t r = 0; r < rows; r++)
            out[0][r * n + k] = batch_norm_epilogue_f64(
                c, in, r * n + k, (in[0][r * n + k] - mean) * invstd * in[1][k] + in[2][k]);
        out[1][k] = mean;
        out[2][k] = invstd;
        out[3][k] = (1.0 - m) * in[3][k] + m * mean;
        out[4][k] = (1.0 - m) * in[4][k] + m * var * unbiased(rows);
    }
    return TUTTI_OK;
}

/* Scratch: per part of the rows sum and square (C) f64; then scale (C) f32; then per thread three blocks. */
static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    const uint64_t n = (uint64_t)batch_norm_channels(&c->in[0]);
    const uint64_t parts = (uint64_t)op_parts(tutti_numel(&c->in[0]));
    *ret_scratch = n * (parts * 2 * sizeof(double) + sizeof(float)) +
                   (uint64_t)c->threads * batch_norm_scratch(c) * sizeof(float);
    return TUTTI_OK;
}

void batch_norm_scale(int64_t n, const float *gamma, const float *invstd, float *scale)
{
    for (int64_t k = 0; k < n; k++)
        scale[k] = (float)((double)invstd[k] * (double)gamma[k]);
}

void batch_norm_finish(const tutti_op_call *c, const double *sums, int64_t rows,
                       const void *const *in, void *const *out, float *scale)
{
    const batch_norm_attr *a = c->attr;
    const int64_t n = batch_norm_channels(&c->in[0]);
    const float *gamma = in[1], *old_mean = in[3], *old_var = in[4];
    float *means = out[1], *invstds = out[2], *new_mean = out[3], *new_var = out[4];
    const double m = weight_of_new(a, rows), count = rows ? (double)rows : 1.0;
    for (int64_t k = 0; k < n; k++) {
        const double sum = sums[k], square = sums[n + k];
        const double mean = sum / count, raw = square / count - mean * mean;
        const double var = raw > 0.0 || isnan(raw) ? raw : 0.0;
        const double invstd = 1.0 / sqrt(var + a->eps);
        means[k] = (float)mean;
        invstds[k] = (float)invstd;
        new_mean[k] = (float)((1.0 - m) * (double)old_mean[k] + m * mean);
        new_var[k] = (float)((1.0 - m) * (double)old_var[k] + m * var * unbiased(rows));
    }
    batch_norm_scale(n, gamma, invstds, scale); /* as the gradient has it */
}

void batch_norm_sum_rows(const tutti_op_call *c, const void *x, int64_t first, int64_t count,
                         double *sums, float *buffer)
{
    const int64_t n = batch_norm_channels(&c->in[0]), block = batch_norm_block(c);
    memset(sums, 0, (size_t)(2 * n) * sizeof *sums);
    for (int64_t at = first; at < first + count; at += block) {
        const int64_t left = first + count - at, part = left < block ? left : block;
        if (batch_norm_is_bf16(c))
            batch_norm_sums((const uint16_t *)x + at * n, 1, part, n, sums, sums + n);
        else
            batch_norm_sums(half_read(x, c->in[0].dtype, at * n, part * n, buffer), 0, part, n,
                            sums, sums + n);
    }
}

void batch_norm_apply_rows(const tutti_op_call *c, const void *const *in, void *y, int64_t at,
                           int64_t rows, const batch_norm_line *line, float *buffer)
{
    const int64_t n = batch_norm_channels(&c->in[0]), i = at * n, size = rows * n;
    if (batch_norm_is_bf16(c)) {
        batch_norm_apply((const uint16_t *)in[0] + i,
                         c->nin > 5 ? (const uint16_t *)in[5] + i : NULL, (uint16_t *)y + i, 1,
                         rows, n, line);
        return;
    }
    float *more = buffer + BATCH_NORM_HALF_BLOCK * n, *place = more + BATCH_NORM_HALF_BLOCK * n;
    float *to = half_place(y, c->out[0].dtype, i, place);
    batch_norm_apply(half_read(in[0], c->in[0].dtype, i, size, buffer),
                     c->nin > 5 ? half_read(in[5], c->in[5].dtype, i, size, more) : NULL, to, 0,
                     rows, n, line);
    half_write(y, c->out[0].dtype, i, size, to);
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const int64_t n = batch_norm_channels(&c->in[0]), rows = batch_norm_rows(&c->in[0]);
    const int64_t block = batch_norm_block(c);
    const uint64_t each = batch_norm_scratch(c);
    const int threads = op_threads(c, rows * n), parts = op_parts(rows * n);
    float *scale = (float *)scratch + 4 * n * parts, *buffers = scale + n;
    double *sums = scratch;
    const batch_norm_line line = {out[1], scale, in[2],
                                  ((const batch_norm_attr *)c->attr)->act};
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp for schedule(static)
        for (int t = 0; t < parts; t++) {
            int64_t first;
            const int64_t count = op_chunk(rows, t, parts, &first);
            batch_norm_sum_rows(c, in[0], first, count, sums + 2 * t * n,
                                buffers + (uint64_t)omp_get_thread_num() * each);
        }
#pragma omp single
        {
            op_join_parts(sums, parts, (uint64_t)(2 * n), 2 * n);
            batch_norm_finish(c, sums, rows, in, out, scale);
        }
#pragma omp for schedule(static)
        for (int t = 0; t < threads; t++) {
            int64_t first, end = op_chunk(rows, t, threads, &first);
            for (end += first; end > first; end -= block) {
                const int64_t at = end - block > first ? end - block : first;
                batch_norm_apply_rows(c, in, out[0], at, end - at, &line,
                                      buffers + (uint64_t)t * each);
            }
        }
    }
    return TUTTI_OK;
}

/* dx of the statistics alone: (x - mean) 2/N dvar + dmean/N.  0 when no gradient comes that way. */
static tutti_value statistics_grad(tutti_graph *g, const tutti_node *n, const tutti_value *dy)
{
    const tutti_desc x = *g->desc(g, n->in[0]);
    const int64_t rows = batch_norm_rows(&x);
    const double m = weight_of_new(n->attr, rows), each = rows ? 1.0 / (double)rows : 0.0;
    tutti_value dmean = 0, dvar = 0;
    if (dy[1])
        dmean = tutti_affine(g, dy[1], each, 0.0);
    if (dy[3]) {
        const tutti_value d = tutti_affine(g, dy[3], m * each, 0.0);
        dmean = dmean ? tutti_add(g, dmean, d) : d;
    }
    if (dy[2]) { /* invstd = (var + eps)^-1/2 */
        const tutti_value cube = tutti_mul(g, n->out[2], tutti_mul(g, n->out[2], n->out[2]));
        dvar = tutti_affine(g, tutti_mul(g, cube, dy[2]), -each, 0.0);
    }
    if (dy[4]) {
        const tutti_value d = tutti_affine(g, dy[4], 2.0 * each * m * unbiased(rows), 0.0);
        dvar = dvar ? tutti_add(g, dvar, d) : d;
    }
    tutti_value dx = 0;
    if (dvar)
        dx = tutti_mul(g, tutti_sub(g, n->in[0], n->out[1]), dvar);
    if (dx && dmean)
        return tutti_add(g, dx, dmean);
    const tutti_attr shape = tutti_attr_list("shape", x.dim, (uint32_t)x.rank);
    return dmean ? g->emit(g, "broadcast_to", &dmean, 1, &shape, 1, NULL, 0) : dx;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const tutti_desc x = *g->desc(g, n->in[0]);
    const double kept = 1.0 - weight_of_new(n->attr, batch_norm_rows(&x));
    tutti_value d[3] = {0};
    if (dy[0] && n->need & 39) {
        const int64_t act = ((const batch_norm_attr *)n->attr)->act;
        const bool again = act && n->nin == 5; /* the mask comes from x once more */
        const tutti_value du = again ? dy[0] : batch_norm_epilogue_grad(g, n, dy[0]);
        const tutti_value in[6] = {n->in[0], du, n->in[1], n->out[1], n->out[2], n->in[2]};
        const tutti_attr attr = tutti_attr_i("act", 1);
        (void)g->emit(g, "batch_norm_grad", in, again ? 6 : 5, &attr, again, d, 3);
        if (n->need & 32)
            dx[5] = du;
    }
    if (n->need & 1) {
        const tutti_value more = statistics_grad(g, n, dy);
        dx[0] = d[0] && more ? tutti_add(g, d[0], more) : d[0] ? d[0] : more;
    }
    if (n->need & 2)
        dx[1] = d[1];
    if (n->need & 4)
        dx[2] = d[2];
    for (int k = 3; k < 5; k++)
        if (n->need >> k & 1 && dy[k])
            dx[k] = tutti_affine(g, dy[k], kept, 0.0);
    return g->status(g);
}

/* Sum over all axes but the last, times `scale` -> (C). */
static tutti_value channel_sum(tutti_graph *g, tutti_value v, double scale)
{
    const tutti_desc d = *g->desc(g, v);
    const int64_t axes[TUTTI_MAX_RANK] = {0, 1, 2, 3, 4, 5};
    if (d.rank > 1)
        v = tutti_reduce(g, "sum", v, axes, (uint32_t)d.rank - 1, 0);
    return tutti_affine(g, v, scale, 0.0);
}

static tutti_value running(tutti_graph *g, tutti_value old, tutti_value now, double m)
{
    return tutti_add(g, tutti_affine(g, old, 1.0 - m, 0.0), now);
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const batch_norm_attr *a = n->attr;
    const tutti_desc x = *g->desc(g, n->in[0]);
    const int64_t rows = batch_norm_rows(&x);
    const double m = weight_of_new(a, rows), each = rows ? 1.0 / (double)rows : 0.0;
    const tutti_value mean = channel_sum(g, n->in[0], each);
    const tutti_value centred = tutti_sub(g, n->in[0], mean);
    const tutti_value var = channel_sum(g, tutti_mul(g, centred, centred), each);
    const tutti_value invstd = tutti_op1(g, "rsqrt", tutti_affine(g, var, 1.0, a->eps));
    const tutti_value scaled = tutti_mul(g, tutti_mul(g, centred, invstd), n->in[1]);
    ret_out[0] = batch_norm_epilogue(g, n, tutti_add(g, scaled, n->in[2]));
    ret_out[1] = mean;
    ret_out[2] = invstd;
    ret_out[3] = running(g, n->in[3], tutti_affine(g, mean, m, 0.0), m);
    ret_out[4] = running(g, n->in[4], tutti_affine(g, var, m * unbiased(rows), 0.0), m);
    return g->status(g);
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 33, prepare, run, NULL};

/* From its own statistics, which it gave, instead of the running ones. */
static void batch_norm_substitute(const tutti_node *n, tutti_substitute *ret)
{
    const batch_norm_attr *a = n->attr;
    ret->op = "batch_norm_apply";
    ret->nin = n->nin;
    for (uint32_t k = 0; k < n->nin; k++)
        ret->in[k] = n->in[k];
    ret->in[3] = n->out[1];
    ret->in[4] = n->out[2];
    ret->attr[0] = tutti_attr_i("act", a->act);
    ret->nattr = 1;
}

static const tutti_fusion batch_norm_fusions[] = {
    {TUTTI_FUSE_RESIDUAL_RELU, 0, "batch_norm"},
    {TUTTI_FUSE_SLOT_TOTALS, 0, "batch_norm_totals"},
    {TUTTI_FUSE_ACROSS_SLOTS, 0, "batch_norm_across"},
    {0, 0, NULL},
};
OP_TRAITS(batch_norm, KEEP, WHOLE, CONSTANTS, BY, UNCOUNTED, NONE, OTHER,
          .substitute = batch_norm_substitute, .fusions = batch_norm_fusions,
          .updates = batch_norm_updates);
const tutti_op tutti_op_batch_norm = {.struct_size = sizeof(tutti_op),
                                      .traits = &batch_norm_traits,
                                      .flags = TUTTI_OP_FUSED | TUTTI_OP_HALF |
                                               TUTTI_OP_REPRODUCIBLE,
                                      .name = "batch_norm",
                                      .nin_min = 5,
                                      .nin_max = 6,
                                      .nout = 5,
                                      .attr_size = sizeof(batch_norm_attr),
                                      .fields = fields,
                                      .nfields = sizeof fields / sizeof *fields,
                                      .infer = infer,
                                      .vjp = vjp,
                                      .decompose = decompose,
                                      .reference = reference,
                                      .cpu = &cpu,
                                      .cuda = &batch_norm_cuda};
