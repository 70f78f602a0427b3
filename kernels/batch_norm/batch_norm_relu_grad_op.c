/* batch_norm_relu_grad_op.c - batch_norm_grad of ReLU's gradient, which is made where it is read first. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"

#include <string.h>

#include <omp.h>

/* In: x, dy (..., C), gamma, mean, invstd (C), y (..., C), optionally more (..., C).
 * Out: dx (..., C), dgamma, dbeta (C), du (..., C).
 *   du = (dy + more) where y > 0, 0 elsewhere; dx, dgamma, dbeta = batch_norm_grad(x, du, gamma, mean, invstd).
 * The same bits as from these operations one by one: what follows reads du as it is stored. */

enum { X, DY, GAMMA, MEAN, INVSTD, Y, MORE, DU = 3, NIN = 5 };

/* act: batch_norm_grad's, whose place it takes; 0, for the mask is y's. */
static const tutti_attr_field fields[] = {OP_FIELD_I64(batch_norm_grad_attr, act, 0)};

static const batch_norm_grad_attr plain = {0};

static const char *const names[] = {"gamma", "mean", "invstd"};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    static const char *const op = "batch_norm_relu_grad",
                             *const like_x[] = {[DY] = "dy", [Y] = "y", [MORE] = "more"};
    tutti_status s = batch_norm_want_channels(op, c, GAMMA, Y, names, err);
    for (uint32_t k = DY; k < c->nin && !s; k = k == DY ? Y : k + 1) {
        s = op_want_same(op, "x", &c->in[X], like_x[k], &c->in[k], err);
        if (!s)
            s = op_want_f32(op, like_x[k], &c->in[k], err);
    }
    const int64_t act = ((const batch_norm_grad_attr *)c->attr)->act;
    if (!s && act)
        s = tutti_fail(err, TUTTI_E_RANGE, "%s: act is %lld, want 0: y tells the mask", op,
                       (long long)act);
    if (s)
        return s;
    out[0] = c->in[X];
    out[1] = out[2] = c->in[GAMMA];
    out[DU] = c->in[DY];
    return TUTTI_OK;
}

/* The call of batch_norm_grad behind it; `in` has room for its operands. */
static tutti_op_call gradient_of(const tutti_op_call *c, tutti_desc *in)
{
    tutti_op_call grad = *c;
    memcpy(in, c->in, NIN * sizeof *in);
    in[DY] = c->out[DU];
    grad.nin = NIN;
    grad.nout = DU;
    grad.in = in;
    grad.attr = &plain;
    return grad;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t size = tutti_numel(&c->in[X]);
    for (int64_t i = 0; i < size; i++) {
        const double sum = c->nin > MORE ? in[DY][i] + in[MORE][i] : in[DY][i];
        out[DU][i] = in[Y][i] > 0.0 ? sum : 0.0;
    }
    const double *const from[NIN] = {in[X], out[DU], in[GAMMA], in[MEAN], in[INVSTD]};
    tutti_desc descs[NIN];
    const tutti_op_call grad = gradient_of(c, descs);
    return tutti_op_batch_norm_grad.reference(&grad, from, out);
}

static int is_bf16(const tutti_op_call *c)
{
    return batch_norm_is_bf16(c) && c->out[DU].dtype == TUTTI_BF16;
}

static int is_f32(const tutti_op_call *c)
{
    int all = c->out[0].dtype == TUTTI_F32 && c->out[DU].dtype == TUTTI_F32;
    for (uint32_t k = 0; k < c->nin; k++)
        all &= c->in[k].dtype == TUTTI_F32;
    return all;
}

/* Floats of one thread: four blocks, where the loops do not take the dtypes. */
static uint64_t buffer_size(const tutti_op_call *c)
{
    return 4 * BATCH_NORM_HALF_BLOCK * (uint64_t)batch_norm_channels(&c->in[X]);
}

/* Scratch: per part of the rows sum and product (C) f64; batch_norm_grad_apply's coefficients; then per thread its
 * buffer. */
static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    const uint64_t n = (uint64_t)batch_norm_channels(&c->in[X]);
    const uint64_t parts = (uint64_t)op_parts(tutti_numel(&c->in[X]));
    const int apart = !is_bf16(c) && !is_f32(c);
    *ret_scratch = n * (parts * 2 * sizeof(double) + 3 * sizeof(float)) +
                   (apart ? (uint64_t)c->threads * buffer_size(c) * sizeof(float) : 0);
    return TUTTI_OK;
}

/* Elements [at, at + size) of du, of any float dtypes; what they are as they are stored. */
static const float *make_du(const tutti_op_call *c, const void *const *in, void *du, int64_t at,
                            int64_t size, float *buffer)
{
    const int64_t n = BATCH_NORM_HALF_BLOCK * batch_norm_channels(&c->in[X]);
    const float *dy = half_read(in[DY], c->in[DY].dtype, at, size, buffer);
    const float *y = half_read(in[Y], c->in[Y].dtype, at, size, buffer + n);
    float *to = half_place(du, c->out[DU].dtype, at, buffer + 2 * n);
    if (c->nin > MORE) {
        const float *more = half_read(in[MORE], c->in[MORE].dtype, at, size, buffer + 2 * n);
        OP_LOOP for (int64_t i = 0; i < size; i++) to[i] = y[i] > 0.0f ? dy[i] + more[i] : 0.0f;
    } else {
        OP_LOOP for (int64_t i = 0; i < size; i++) to[i] = y[i] > 0.0f ? dy[i] : 0.0f;
    }
    half_write(du, c->out[DU].dtype, at, size, to);
    return half_read(du, c->out[DU].dtype, at, size, buffer);
}

/* Rows [at, at + rows), at most a block: du, and its sums. */
static void sum_block(const tutti_op_call *c, const void *const *in, void *du, int64_t at,
                      int64_t rows, double *sums, float *buffer)
{
    const int64_t n = batch_norm_channels(&c->in[X]), i = at * n;
    const batch_norm_line line = {in[MEAN], in[INVSTD], in[MEAN], 0};
    const int low = is_bf16(c);
    if (low || is_f32(c)) {
        const int64_t size = low ? 2 : 4;
        const char *more = c->nin > MORE ? in[MORE] : NULL;
        const batch_norm_relu_grad relu = {(const char *)in[Y] + i * size,
                                           more ? more + i * size : NULL,
                                           (char *)du + i * size};
        batch_norm_relu_grad_sums((const char *)in[X] + i * size,
                                  (const char *)in[DY] + i * size, &relu, low, rows, n, &line,
                                  sums, sums + n);
        return;
    }
    const float *dy = make_du(c, in, du, i, rows * n, buffer);
    const float *x =
        half_read(in[X], c->in[X].dtype, i, rows * n, buffer + 3 * BATCH_NORM_HALF_BLOCK * n);
    batch_norm_grad_sums(x, dy, 0, rows, n, &line, sums, sums + n);
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const int64_t n = batch_norm_channels(&c->in[X]), rows = batch_norm_rows(&c->in[X]);
    const int64_t block = BATCH_NORM_HALF_BLOCK;
    const int threads = op_threads(c, rows * n), parts = op_parts(rows * n);
    float *coef = (float *)scratch + 4 * n * parts, *buffers = coef + 3 * n;
    double *sums = scratch;
    tutti_desc descs[NIN];
    const tutti_op_call grad = gradient_of(c, descs);
    const void *const from[NIN] = {in[X], out[DU], in[GAMMA], in[MEAN], in[INVSTD]};
    const batch_norm_line line = {in[MEAN], in[INVSTD], in[MEAN], 0};
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        float *buffer = buffers + (uint64_t)omp_get_thread_num() * buffer_size(c);
#pragma omp for schedule(static)
        for (int t = 0; t < parts; t++) {
            int64_t first, end = op_chunk(rows, t, parts, &first);
            double *mine = sums + 2 * t * n;
            memset(mine, 0, (size_t)(2 * n) * sizeof *mine);
            for (int64_t at = first, stop = first + end; at < stop; at += block)
                sum_block(c, in, out[DU], at, stop - at < block ? stop - at : block, mine,
                          buffer);
        }
#pragma omp single
        {
            op_join_parts(sums, parts, (uint64_t)(2 * n), 2 * n);
            batch_norm_grad_finish(n, rows, sums, from, out, coef);
        }
#pragma omp for schedule(static)
        for (int t = 0; t < threads; t++) {
            int64_t first;
            const int64_t count = op_chunk(rows, t, threads, &first);
            batch_norm_grad_rows(&grad, from, out[0], first, count, &line, coef, buffer);
        }
    }
    return TUTTI_OK;
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const tutti_value dy = n->nin > MORE ? tutti_add(g, n->in[DY], n->in[MORE]) : n->in[DY];
    const tutti_value du = tutti_op2(g, "relu_grad", dy, n->in[Y]);
    const tutti_value in[NIN] = {n->in[X], du, n->in[GAMMA], n->in[MEAN], n->in[INVSTD]};
    tutti_node grad = *n;
    grad.in = in;
    grad.nin = NIN;
    grad.attr = &plain;
    ret_out[DU] = du;
    return tutti_op_batch_norm_grad.decompose(g, &grad, ret_out);
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 1 << X, prepare, run, NULL};

/* du lies where dy lay. */
static const uint8_t updates[4] = {0, 0, 0, 1 + DY};

OP_TRAITS(batch_norm_relu_grad, KEEP, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER,
          .updates = updates);
const tutti_op tutti_op_batch_norm_relu_grad = {.struct_size = sizeof(tutti_op),
                                                .traits = &batch_norm_relu_grad_traits,
                                                .flags = TUTTI_OP_FUSED | TUTTI_OP_HALF |
                                                         TUTTI_OP_REPRODUCIBLE,
                                                .name = "batch_norm_relu_grad",
                                                .nin_min = 6,
                                                .nin_max = 7,
                                                .nout = 4,
                                                .attr_size = sizeof(batch_norm_grad_attr),
                                                .fields = fields,
                                                .nfields = sizeof fields / sizeof *fields,
                                                .infer = infer,
                                                .decompose = decompose,
                                                .reference = reference,
                                                .cpu = &cpu};
