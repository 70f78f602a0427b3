/* batch_norm_grad_op.c - the gradient of batch_norm's y by x, gamma and beta. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"

#include <string.h>

#include <omp.h>

/* In: x, dy (..., C), gamma, mean, invstd (C), with act also beta (C).
 * Out: dx (..., C), dgamma, dbeta (C).  With act, dy counts as 0 where y was not above 0:
 * xhat gamma + beta tells that again, to the bit, which is cheaper than to read y.
 *   dbeta = sum dy, dgamma = sum dy xhat with xhat = (x - mean) invstd,
 *   dx = gamma invstd (dy - dbeta / N - xhat dgamma / N). */

static const tutti_attr_field fields[] = {OP_FIELD_I64(batch_norm_grad_attr, act, 0)};

static const char *const names[] = {"gamma", "mean", "invstd", "beta"};

static int64_t act_of(const tutti_op_call *c)
{
    return ((const batch_norm_grad_attr *)c->attr)->act;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    tutti_status s = batch_norm_want_channels("batch_norm_grad", c, 2, c->nin, names, err);
    if (!s)
        s = op_want_same("batch_norm_grad", "x", &c->in[0], "dy", &c->in[1], err);
    if (!s)
        s = op_want_f32("batch_norm_grad", "dy", &c->in[1], err);
    if (!s)
        s = batch_norm_want_act("batch_norm_grad", act_of(c), err);
    if (!s && c->nin != (act_of(c) ? 6 : 5))
        s = tutti_fail(err, TUTTI_E_ARG, "batch_norm_grad: %u inputs, want %d with act %lld",
                       c->nin, act_of(c) ? 6 : 5, (long long)act_of(c));
    if (s)
        return s;
    out[0] = c->in[0];
    out[1] = out[2] = c->in[2];
    return TUTTI_OK;
}

/* dy of element i, which is of channel k */
static double masked_f64(const tutti_op_call *c, const double *const *in, int64_t i, int64_t k)
{
    const double u = act_of(c) ? (in[0][i] - in[3][k]) * in[4][k] * in[2][k] + in[5][k] : 1.0;
    return u > 0.0 ? in[1][i] : 0.0;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t n = batch_norm_channels(&c->in[0]), rows = batch_norm_rows(&c->in[0]);
    const double *x = in[0];
    for (int64_t k = 0; k < n; k++) {
        const double gamma = in[2][k], mean = in[3][k], invstd = in[4][k];
        double dgamma = 0.0, dbeta = 0.0;
        for (int64_t r = 0; r < rows; r++) {
            const double dy = masked_f64(c, in, r * n + k, k);
            dbeta += dy;
            dgamma += dy * (x[r * n + k] - mean) * invstd;
        }
        for (int64_t r = 0; r < rows; r++) {
            const double xhat = (x[r * n + k] - mean) * invstd;
            out[0][r * n + k] = gamma * invstd *
                                (masked_f64(c, in, r * n + k, k) - dbeta / (double)rows -
                                 xhat * dgamma / (double)rows);
        }
        out[1][k] = dgamma;
        out[2][k] = dbeta;
    }
    return TUTTI_OK;
}

/* Scratch: per part of the rows sum and product (C) f64; batch_norm_grad_apply's coefficients; the scale; then
 * per thread three blocks. */
static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    const uint64_t n = (uint64_t)batch_norm_channels(&c->in[0]);
    const uint64_t parts = (uint64_t)op_parts(tutti_numel(&c->in[0]));
    *ret_scratch = n * (parts * 2 * sizeof(double) + 4 * sizeof(float)) +
                   (uint64_t)c->threads * batch_norm_scratch(c) * sizeof(float);
    return TUTTI_OK;
}

void batch_norm_grad_coef(int64_t n, int64_t rows, const double *sums, const float *gamma,
                          const float *invstd, float *coef)
{
    const double each = rows ? 1.0 / (double)rows : 0.0;
    for (int64_t k = 0; k < n; k++) {
        const double i = (double)invstd[k], a = (double)gamma[k] * i;
        coef[k] = (float)a;
        coef[n + k] = (float)(-a * i * i * sums[n + k] * each);
        coef[2 * n + k] = (float)(-a * sums[k] * each);
    }
}

void batch_norm_grad_finish(int64_t n, int64_t rows, const double *sums, const void *const *in,
                            void *const *out, float *coef)
{
    const float *invstd = in[4];
    float *dgamma = out[1], *dbeta = out[2];
    for (int64_t k = 0; k < n; k++) {
        dgamma[k] = (float)(sums[n + k] * (double)invstd[k]);
        dbeta[k] = (float)sums[k];
    }
    batch_norm_grad_coef(n, rows, sums, in[2], invstd, coef);
}

/* A block of x and dy as the loops take it. */
typedef struct block_rows {
    const void *x, *dy;
    int32_t bf16; /* as it lies; else in f32 */
    int32_t reserved;
} block_rows;

static block_rows read_rows(const tutti_op_call *c, const void *const *in, int64_t i,
                            int64_t size, float *buffer)
{
    const int64_t n = BATCH_NORM_HALF_BLOCK * batch_norm_channels(&c->in[0]);
    if (batch_norm_is_bf16(c))
        return (block_rows){(const uint16_t *)in[0] + i, (const uint16_t *)in[1] + i, 1, 0};
    return (block_rows){half_read(in[0], c->in[0].dtype, i, size, buffer),
                        half_read(in[1], c->in[1].dtype, i, size, buffer + n), 0, 0};
}

void batch_norm_grad_sum_rows(const tutti_op_call *c, const void *const *in, int64_t first,
                              int64_t count, const batch_norm_line *line, double *sums,
                              float *buffer)
{
    const int64_t n = batch_norm_channels(&c->in[0]), block = batch_norm_block(c);
    memset(sums, 0, (size_t)(2 * n) * sizeof *sums);
    for (int64_t at = first; at < first + count; at += block) {
        const int64_t left = first + count - at, part = left < block ? left : block;
        const block_rows r = read_rows(c, in, at * n, part * n, buffer);
        batch_norm_grad_sums(r.x, r.dy, r.bf16, part, n, line, sums, sums + n);
    }
}

void batch_norm_grad_rows(const tutti_op_call *c, const void *const *in, void *dx,
                          int64_t first, int64_t count, const batch_norm_line *line,
                          const float *coef, float *buffer)
{
    const int64_t n = batch_norm_channels(&c->in[0]), block = batch_norm_block(c);
    float *place = buffer + 2 * BATCH_NORM_HALF_BLOCK * n;
    for (int64_t end = first + count; end > first; end -= block) {
        const int64_t at = end - block > first ? end - block : first;
        const int64_t i = at * n, size = (end - at) * n;
        const block_rows r = read_rows(c, in, i, size, buffer);
        void *to =
            r.bf16 ? (void *)((uint16_t *)dx + i) : half_place(dx, c->out[0].dtype, i, place);
        batch_norm_grad_apply(r.x, r.dy, to, r.bf16, end - at, n, line, coef);
        if (!r.bf16)
            half_write(dx, c->out[0].dtype, i, size, to);
    }
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const int64_t n = batch_norm_channels(&c->in[0]), rows = batch_norm_rows(&c->in[0]);
    const uint64_t each = batch_norm_scratch(c);
    const int threads = op_threads(c, rows * n), parts = op_parts(rows * n);
    float *coef = (float *)scratch + 4 * n * parts, *scale = coef + 3 * n;
    float *buffers = scale + n;
    double *sums = scratch;
    const batch_norm_line line = {in[3], scale, act_of(c) ? in[5] : in[3], act_of(c)};
    batch_norm_scale(n, in[2], in[4], scale); /* as the forward pass had it */
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp for schedule(static)
        for (int t = 0; t < parts; t++) {
            int64_t first;
            const int64_t count = op_chunk(rows, t, parts, &first);
            batch_norm_grad_sum_rows(c, in, first, count, &line, sums + 2 * t * n,
                                     buffers + (uint64_t)omp_get_thread_num() * each);
        }
#pragma omp single
        {
            op_join_parts(sums, parts, (uint64_t)(2 * n), 2 * n);
            batch_norm_grad_finish(n, rows, sums, in, out, coef);
        }
#pragma omp for schedule(static)
        for (int t = 0; t < threads; t++) {
            int64_t first;
            const int64_t count = op_chunk(rows, t, threads, &first);
            batch_norm_grad_rows(c, in, out[0], first, count, &line, coef,
                                 buffers + (uint64_t)t * each);
        }
    }
    return TUTTI_OK;
}

static tutti_value channel_sum(tutti_graph *g, tutti_value v)
{
    const tutti_desc d = *g->desc(g, v);
    const int64_t axes[TUTTI_MAX_RANK] = {0, 1, 2, 3, 4, 5};
    return d.rank > 1 ? tutti_reduce(g, "sum", v, axes, (uint32_t)d.rank - 1, 0) : v;
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const tutti_desc x = *g->desc(g, n->in[0]);
    const int64_t rows = batch_norm_rows(&x);
    const double each = rows ? 1.0 / (double)rows : 0.0;
    const tutti_value gamma = n->in[2], mean = n->in[3], invstd = n->in[4];
    const tutti_value xhat = tutti_mul(g, tutti_sub(g, n->in[0], mean), invstd);
    tutti_value dy = n->in[1];
    if (((const batch_norm_grad_attr *)n->attr)->act)
        dy = tutti_op2(g, "relu_grad", dy, tutti_add(g, tutti_mul(g, xhat, gamma), n->in[5]));
    const tutti_value dgamma = channel_sum(g, tutti_mul(g, dy, xhat));
    const tutti_value dbeta = channel_sum(g, dy);
    const tutti_value less = tutti_sub(g, dy, tutti_affine(g, dbeta, each, 0.0));
    const tutti_value rest =
        tutti_sub(g, less, tutti_mul(g, xhat, tutti_affine(g, dgamma, each, 0.0)));
    ret_out[0] = tutti_mul(g, rest, tutti_mul(g, gamma, invstd));
    ret_out[1] = dgamma;
    ret_out[2] = dbeta;
    return g->status(g);
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 3, prepare, run, NULL};

static const tutti_fusion batch_norm_grad_fusions[] = {
    {TUTTI_FUSE_RELU_GRAD, 0, "batch_norm_relu_grad"},
    {0, 0, NULL},
};
OP_TRAITS(batch_norm_grad, KEEP, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER,
          .fusions = batch_norm_grad_fusions);
const tutti_op tutti_op_batch_norm_grad = {.struct_size = sizeof(tutti_op),
                                           .traits = &batch_norm_grad_traits,
                                           .flags = TUTTI_OP_FUSED | TUTTI_OP_HALF |
                                                    TUTTI_OP_REPRODUCIBLE,
                                           .name = "batch_norm_grad",
                                           .nin_min = 5,
                                           .nin_max = 6,
                                           .nout = 3,
                                           .attr_size = sizeof(batch_norm_grad_attr),
                                           .fields = fields,
                                           .nfields = sizeof fields / sizeof *fields,
                                           .infer = infer,
                                           .decompose = decompose,
                                           .reference = reference,
                                           .cpu = &cpu,
                                           .cuda = &batch_norm_grad_cuda};
