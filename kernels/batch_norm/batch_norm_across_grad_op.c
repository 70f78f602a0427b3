/* batch_norm_across_grad_op.c - the gradient of batch_norm_across by x, from totals that all slots have added up. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm_across.h"

/* In: x, dy (..., C), gamma, mean, invstd (C), totals of batch_norm_across_totals over all slots, with act also beta (C).
 * Out: dx (..., C) = gamma invstd (dy - sum dy / N - (x - mean) invstd^2 sum dy (x - mean) / N), N rows in all slots. */

static const tutti_attr_field fields[] = {OP_FIELD_I64(batch_norm_grad_attr, act, 0)};

static const char *const names[] = {"gamma", "mean", "invstd", "beta"};

static int64_t act_of(const tutti_op_call *c)
{
    return ((const batch_norm_grad_attr *)c->attr)->act;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    static const char op[] = "batch_norm_across_grad";
    batch_norm_call b;
    batch_norm_without_totals(c, &b);
    tutti_status s = batch_norm_want_channels(op, &b.call, 2, b.call.nin, names, err);
    if (!s)
        s = op_want_same(op, "x", &c->in[0], "dy", &c->in[1], err);
    if (!s)
        s = op_want_f32(op, "dy", &c->in[1], err);
    if (!s)
        s = batch_norm_want_act(op, act_of(c), err);
    if (!s && c->nin != (act_of(c) ? 7 : 6))
        s = tutti_fail(err, TUTTI_E_ARG, "%s: %u inputs, want %d with act %lld", op, c->nin,
                       act_of(c) ? 7 : 6, (long long)act_of(c));
    if (!s)
        s = batch_norm_want_totals(op, c, err);
    if (!s)
        out[0] = c->in[0];
    return s;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t n = batch_norm_channels(&c->in[0]);
    const double *totals = in[5], all = totals[2 * n], each = all > 0.0 ? 1.0 / all : 0.0;
    for (int64_t i = 0, size = tutti_numel(&c->in[0]); i < size; i++) {
        const int64_t k = i % n;
        const double centred = in[0][i] - in[3][k], invstd = in[4][k];
        const double u = act_of(c) ? centred * invstd * in[2][k] + in[6][k] : 1.0;
        const double dy = u > 0.0 ? in[1][i] : 0.0;
        out[0][i] = in[2][k] * invstd *
                    (dy - totals[k] * each - centred * invstd * invstd * totals[n + k] * each);
    }
    return TUTTI_OK;
}

/* Scratch: batch_norm_grad_apply's coefficients, the scale; then per thread three blocks. */
static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    *ret_scratch = (4 * (uint64_t)batch_norm_channels(&c->in[0]) +
                    (uint64_t)c->threads * batch_norm_scratch(c)) *
                   sizeof(float);
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const int64_t n = batch_norm_channels(&c->in[0]), rows = batch_norm_rows(&c->in[0]);
    const int threads = op_threads(c, rows * n);
    const double *totals = in[5];
    float *coef = scratch, *scale = coef + 3 * n, *buffers = scale + n;
    const batch_norm_line line = {in[3], scale, act_of(c) ? in[6] : in[3], act_of(c)};
    batch_norm_scale(n, in[2], in[4], scale);
    batch_norm_grad_coef(n, (int64_t)totals[2 * n], totals, in[2], in[4], coef);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        int64_t first;
        const int64_t count = op_chunk(rows, t, threads, &first);
        batch_norm_grad_rows(c, in, out[0], first, count, &line, coef,
                             buffers + (uint64_t)t * batch_norm_scratch(c));
    }
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 3, prepare, run, NULL};

OP_TRAITS(batch_norm_across_grad, KEEP, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER);
const tutti_op tutti_op_batch_norm_across_grad = {.struct_size = sizeof(tutti_op),
                                                  .traits = &batch_norm_across_grad_traits,
                                                  .flags =
                                                      TUTTI_OP_HALF | TUTTI_OP_REPRODUCIBLE,
                                                  .name = "batch_norm_across_grad",
                                                  .nin_min = 6,
                                                  .nin_max = 7,
                                                  .nout = 1,
                                                  .attr_size = sizeof(batch_norm_grad_attr),
                                                  .fields = fields,
                                                  .nfields = sizeof fields / sizeof *fields,
                                                  .infer = infer,
                                                  .reference = reference,
                                                  .cpu = &cpu,
                                                  .cuda = &batch_norm_across_grad_cuda};
