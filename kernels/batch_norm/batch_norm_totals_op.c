/* batch_norm_totals_op.c - sums over a slot's rows: of x and x^2, of dy and dy (x - mean). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm_across.h"

#include <string.h>

#include <omp.h>

/* What the slots of a batch add up for batch_norm_across and its gradient, as batch_norm_across.h lays it out.
 * batch_norm_totals.  In: x (..., C).  Out: totals of x and x^2.
 * batch_norm_across_totals.  In: x, dy (..., C), gamma, mean, invstd (C), with act also beta (C).
 * Out: totals of dy and dy (x - mean); dgamma, dbeta (C) of this slot alone. */

static const tutti_attr_field fields[] = {OP_FIELD_I64(batch_norm_grad_attr, act, 0)};

static const char *const names[] = {"gamma", "mean", "invstd", "beta"};

static int64_t act_of(const tutti_op_call *c)
{
    return ((const batch_norm_grad_attr *)c->attr)->act;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = batch_norm_want_channels("batch_norm_totals", c, 1, 1, names, err);
    if (!s)
        out[0] = batch_norm_totals(&c->in[0]);
    return s;
}

static tutti_status grad_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    static const char op[] = "batch_norm_across_totals";
    tutti_status s = batch_norm_want_channels(op, c, 2, c->nin, names, err);
    if (!s)
        s = op_want_same(op, "x", &c->in[0], "dy", &c->in[1], err);
    if (!s)
        s = op_want_f32(op, "dy", &c->in[1], err);
    if (!s)
        s = batch_norm_want_act(op, act_of(c), err);
    if (!s && c->nin != (act_of(c) ? 6 : 5))
        s = tutti_fail(err, TUTTI_E_ARG, "%s: %u inputs, want %d with act %lld", op, c->nin,
                       act_of(c) ? 6 : 5, (long long)act_of(c));
    if (s)
        return s;
    out[0] = batch_norm_totals(&c->in[0]);
    out[1] = out[2] = c->in[2];
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t n = batch_norm_channels(&c->in[0]), rows = batch_norm_rows(&c->in[0]);
    memset(out[0], 0, (size_t)(2 * n) * sizeof **out);
    for (int64_t i = 0; i < rows * n; i++) {
        out[0][i % n] += in[0][i];
        out[0][n + i % n] += in[0][i] * in[0][i];
    }
    out[0][2 * n] = (double)rows;
    return TUTTI_OK;
}

static tutti_status grad_reference(const tutti_op_call *c, const double *const *in,
                                   double *const *out)
{
    const int64_t n = batch_norm_channels(&c->in[0]), rows = batch_norm_rows(&c->in[0]);
    memset(out[0], 0, (size_t)(2 * n) * sizeof **out);
    for (int64_t i = 0; i < rows * n; i++) {
        const double centred = in[0][i] - in[3][i % n];
        const double u = act_of(c) ? centred * in[4][i % n] * in[2][i % n] + in[5][i % n] : 1.0;
        out[0][i % n] += u > 0.0 ? in[1][i] : 0.0;
        out[0][n + i % n] += u > 0.0 ? in[1][i] * centred : 0.0;
    }
    out[0][2 * n] = (double)rows;
    for (int64_t k = 0; k < n; k++) {
        out[1][k] = out[0][n + k] * in[4][k];
        out[2][k] = out[0][k];
    }
    return TUTTI_OK;
}

/* As one whose result lies as x does: how rows are read. */
static tutti_op_call reading(const tutti_op_call *c)
{
    tutti_op_call call = *c;
    call.out = c->in;
    return call;
}

/* Scratch: per part of the rows two sums (C) f64; the scale (C) f32; then per thread three blocks. */
static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    const tutti_op_call call = reading(c);
    const uint64_t n = (uint64_t)batch_norm_channels(&c->in[0]);
    const uint64_t parts = (uint64_t)op_parts(tutti_numel(&c->in[0]));
    *ret_scratch = n * (parts * 2 * sizeof(double) + sizeof(float)) +
                   (uint64_t)c->threads * batch_norm_scratch(&call) * sizeof(float) +
                   sizeof(double); /* there is a place, also without channels */
    return TUTTI_OK;
}

/* `line`: of the gradient; NULL: of x.  `sums` is the scratch. */
static void sum(const tutti_op_call *c, const void *const *in, const batch_norm_line *line,
                double *sums, float *buffers, double *totals)
{
    const int64_t n = batch_norm_channels(&c->in[0]), rows = batch_norm_rows(&c->in[0]);
    const uint64_t each = batch_norm_scratch(c);
    const int threads = op_threads(c, rows * n), parts = op_parts(rows * n);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < parts; t++) {
        int64_t first;
        const int64_t count = op_chunk(rows, t, parts, &first);
        float *buffer = buffers + (uint64_t)omp_get_thread_num() * each;
        if (line)
            batch_norm_grad_sum_rows(c, in, first, count, line, sums + 2 * t * n, buffer);
        else
            batch_norm_sum_rows(c, in[0], first, count, sums + 2 * t * n, buffer);
    }
    op_join_parts(sums, parts, (uint64_t)(2 * n), 2 * n);
    memcpy(totals, sums, (size_t)(2 * n) * sizeof *sums);
    totals[2 * n] = (double)rows;
}

static float *scale_of(const tutti_op_call *c, void *scratch)
{
    return (float *)scratch +
           4 * batch_norm_channels(&c->in[0]) * op_parts(tutti_numel(&c->in[0]));
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const tutti_op_call call = reading(c);
    float *buffers = scale_of(c, scratch) + batch_norm_channels(&c->in[0]);
    sum(&call, in, NULL, scratch, buffers, out[0]);
    return TUTTI_OK;
}

static tutti_status grad_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)state;
    const tutti_op_call call = reading(c);
    const int64_t n = batch_norm_channels(&c->in[0]);
    const double *totals = out[0];
    const float *invstd = in[4];
    float *dgamma = out[1], *dbeta = out[2], *scale = scale_of(c, scratch);
    const batch_norm_line line = {in[3], scale, act_of(c) ? in[5] : in[3], act_of(c)};
    batch_norm_scale(n, in[2], invstd, scale);
    sum(&call, in, &line, scratch, scale + n, out[0]);
    for (int64_t k = 0; k < n; k++) {
        dgamma[k] = (float)(totals[n + k] * (double)invstd[k]);
        dbeta[k] = (float)totals[k];
    }
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, NULL};
static const tutti_kernel grad_cpu = {sizeof(tutti_kernel), 0, prepare, grad_run, NULL};

OP_PLAIN(batch_norm_totals);
const tutti_op tutti_op_batch_norm_totals = {.struct_size = sizeof(tutti_op),
                                             .traits = &batch_norm_totals_traits,
                                             .flags = TUTTI_OP_HALF | TUTTI_OP_REPRODUCIBLE,
                                             .name = "batch_norm_totals",
                                             .nin_min = 1,
                                             .nin_max = 1,
                                             .nout = 1,
                                             .infer = infer,
                                             .reference = reference,
                                             .cpu = &cpu,
                                             .cuda = &batch_norm_totals_cuda};
OP_PLAIN(batch_norm_across_totals);
const tutti_op tutti_op_batch_norm_across_totals = {.struct_size = sizeof(tutti_op),
                                                    .traits = &batch_norm_across_totals_traits,
                                                    .flags =
                                                        TUTTI_OP_HALF | TUTTI_OP_REPRODUCIBLE,
                                                    .name = "batch_norm_across_totals",
                                                    .nin_min = 5,
                                                    .nin_max = 6,
                                                    .nout = 3,
                                                    .attr_size = sizeof(batch_norm_grad_attr),
                                                    .fields = fields,
                                                    .nfields = sizeof fields / sizeof *fields,
                                                    .infer = grad_infer,
                                                    .reference = grad_reference,
                                                    .cpu = &grad_cpu,
                                                    .cuda = &batch_norm_across_totals_cuda};
