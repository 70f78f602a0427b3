/* layer_norm_grad_op.c - the gradient of layer_norm's y by x, gamma and beta. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/half_rows.h"
#include "layer_norm/layer_norm.h"

#include <string.h>

enum { LOW = 3 }; /* the result that repeats dx */

/* In: x, dy (..., C), gamma (C), mean, rstd (...), optionally more (..., C), which is added to dx.
 * Out: dx (..., C), dgamma, dbeta (C); of layer_norm_grad_cast dx once more, which a pass stores in 16 bits.
 * With xhat = (x - mean) rstd and d = dy gamma:
 *   dbeta = sum dy, dgamma = sum dy xhat over the rows,
 *   dx = rstd (d - mean(d) - xhat mean(d xhat)), means over a row. */

static tutti_status infer_as(const char *name, const tutti_op_call *c, tutti_desc *out,
                             tutti_error *err)
{
    const tutti_desc *x = &c->in[0];
    tutti_status s = layer_norm_want(name, x, err);
    if (s)
        return s;
    const tutti_desc row = {{layer_norm_width(x)}, 1, TUTTI_F32},
                     batch_dims = layer_norm_batch_dims(x);
    if ((s = layer_norm_want_shape(name, "dy", &c->in[1], x, err)) ||
        (s = layer_norm_want_shape(name, "gamma", &c->in[2], &row, err)) ||
        (s = layer_norm_want_shape(name, "mean", &c->in[3], &batch_dims, err)) ||
        (s = layer_norm_want_shape(name, "rstd", &c->in[4], &batch_dims, err)) ||
        (c->nin > 5 && (s = layer_norm_want_shape(name, "more", &c->in[5], x, err))))
        return s;
    out[0] = *x;
    out[1] = out[2] = row;
    return TUTTI_OK;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    return infer_as("layer_norm_grad", c, out, err);
}

static tutti_status infer_cast(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = infer_as("layer_norm_grad_cast", c, out, err);
    if (!s)
        out[LOW] = out[0];
    return s;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t n = layer_norm_width(&c->in[0]), rows = layer_norm_rows(&c->in[0]);
    memset(out[1], 0, (size_t)n * sizeof(double));
    memset(out[2], 0, (size_t)n * sizeof(double));
    for (int64_t r = 0; r < rows; r++) {
        const double *x = in[0] + r * n, *dy = in[1] + r * n, mean = in[3][r], rstd = in[4][r];
        double a = 0.0, b = 0.0;
        for (int64_t k = 0; k < n; k++) {
            const double xhat = (x[k] - mean) * rstd;
            out[1][k] += dy[k] * xhat;
            out[2][k] += dy[k];
            a += dy[k] * in[2][k] / (double)n;
            b += dy[k] * in[2][k] * xhat / (double)n;
        }
        for (int64_t k = 0; k < n; k++)
            out[0][r * n + k] = rstd * (dy[k] * in[2][k] - a - (x[k] - mean) * rstd * b) +
                                (c->nin > 5 ? in[5][r * n + k] : 0.0);
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

/* The rows' sums for gamma and beta go in f32 over this many rows, then in f64. */
enum { BLOCK = 32 };

/* Scratch, a part of the rows: dgamma, dbeta (C) f64, then the same in f32. */
static uint64_t part_size(int64_t n)
{
    return ((uint64_t)n * 2 * (sizeof(double) + sizeof(float)) + 63) / 64 * 64;
}

/* Of one thread: rows as F32, where something has 16 bits. */
static uint64_t own_size(const tutti_op_call *c)
{
    int half = half_is(c->out[0].dtype);
    for (uint32_t k = 0; k < c->nin; k++)
        half = half || half_is(c->in[k].dtype);
    return half ? LAYER_NORM_HALVES * LAYER_NORM_ROWS * layer_norm_row_bytes(&c->in[0]) : 0;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    *ret_scratch = part_size(layer_norm_width(&c->in[0])) *
                       (uint64_t)op_parts(4 * tutti_numel(&c->in[0])) +
                   own_size(c) * (uint64_t)c->threads + layer_norm_weight_bytes(c, 2);
    return TUTTI_OK;
}

/* All but the sums, and what is a thread's own. */
static layer_norm_grad_part whole(const tutti_op_call *c, const void *const *in,
                                  void *const *out, const float *gamma)
{
    layer_norm_grad_part q = {.x = in[0],
                              .dy = in[1],
                              .gamma = gamma,
                              .mean = in[3],
                              .rstd = in[4],
                              .dx = out[0],
                              .n = layer_norm_width(&c->in[0]),
                              .x_dtype = c->in[0].dtype,
                              .dy_dtype = c->in[1].dtype,
                              .dx_dtype = c->out[0].dtype};
    if (c->nin > 5) {
        q.more = in[5];
        q.more_dtype = c->in[5].dtype;
    }
    if (c->nout > LOW) {
        q.low = out[LOW];
        q.low_dtype = c->out[LOW].dtype;
    }
    return q;
}

static void part(layer_norm_grad_part q, int64_t first, int64_t end, double *sums)
{
    const int64_t n = q.n;
    float *block = (float *)(sums + 2 * n);
    q.dgamma = block;
    q.dbeta = block + n;
    memset(sums, 0, (size_t)(2 * n) * sizeof *sums);
    for (int64_t at = first; at < end; at += BLOCK) {
        memset(block, 0, (size_t)(2 * n) * sizeof *block);
        TUTTI_ISA_PICK(layer_norm_backward)(&q, at, at + BLOCK < end ? at + BLOCK : end);
        for (int64_t k = 0; k < 2 * n; k++)
            sums[k] += (double)block[k];
    }
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const int64_t n = layer_norm_width(&c->in[0]), rows = layer_norm_rows(&c->in[0]);
    const int threads = op_threads(c, 4 * rows * n), parts = op_parts(4 * rows * n);
    const uint64_t size = part_size(n), own = own_size(c);
    char *space = (char *)scratch + (uint64_t)parts * size;
    const layer_norm_grad_part q = whole(c, in, out, layer_norm_weight(c, 2, in[2], &space));
    float *dgamma = out[1], *dbeta = out[2];
    double *sums = scratch;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        layer_norm_grad_part mine = q;
        mine.rows = (float *)(space + (uint64_t)t * own);
        for (int p = parts * t / threads; p < parts * (t + 1) / threads; p++)
            part(mine, rows * p / parts, rows * (p + 1) / parts,
                 (double *)((char *)scratch + (uint64_t)p * size));
    }
    op_join_parts(sums, parts, size / sizeof *sums, 2 * n);
    for (int64_t k = 0; k < n; k++) {
        dgamma[k] = (float)sums[k];
        dbeta[k] = (float)sums[n + k];
    }
    return TUTTI_OK;
}

static tutti_value rows_sum(tutti_graph *g, tutti_value v, int32_t rank)
{
    const int64_t axes[TUTTI_MAX_RANK] = {0, 1, 2, 3, 4, 5};
    return rank > 1 ? tutti_reduce(g, "sum", v, axes, (uint32_t)rank - 1, 0) : v;
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const tutti_desc x = *g->desc(g, n->in[0]);
    tutti_desc column = layer_norm_batch_dims(&x);
    const int64_t last = x.rank - 1;
    column.dim[column.rank++] = 1;
    const tutti_value dy = n->in[1];
    const tutti_value mean = tutti_reshape(g, n->in[3], column.dim, (uint32_t)column.rank);
    const tutti_value rstd = tutti_reshape(g, n->in[4], column.dim, (uint32_t)column.rank);
    const tutti_value xhat = tutti_mul(g, tutti_sub(g, n->in[0], mean), rstd);
    const tutti_value d = tutti_mul(g, dy, n->in[2]);
    const tutti_value a = tutti_reduce(g, "mean", d, &last, 1, 1);
    const tutti_value b = tutti_reduce(g, "mean", tutti_mul(g, d, xhat), &last, 1, 1);
    const tutti_value rest = tutti_sub(g, tutti_sub(g, d, a), tutti_mul(g, xhat, b));
    const tutti_value dx = tutti_mul(g, rstd, rest);
    ret_out[0] = n->nin > 5 ? tutti_add(g, dx, n->in[5]) : dx;
    ret_out[1] = rows_sum(g, tutti_mul(g, dy, xhat), x.rank);
    ret_out[2] = rows_sum(g, dy, x.rank);
    return g->status(g);
}

static tutti_status decompose_cast(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const tutti_status s = decompose(g, n, ret_out);
    ret_out[LOW] = ret_out[0];
    return s;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 35, prepare, run, NULL};

static const tutti_fusion layer_norm_grad_fusions[] = {
    {TUTTI_FUSE_RESIDUAL_GRAD, 0, "layer_norm_grad"},
    {TUTTI_FUSE_CAST, 0, "layer_norm_grad_cast"},
    {0, 0, NULL},
};
OP_TRAITS(layer_norm_grad, F32, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER,
          .fusions = layer_norm_grad_fusions);
const tutti_op tutti_op_layer_norm_grad = {.struct_size = sizeof(tutti_op),
                                           .traits = &layer_norm_grad_traits,
                                           .flags = TUTTI_OP_FUSED | TUTTI_OP_HALF |
                                                    TUTTI_OP_REPRODUCIBLE,
                                           .name = "layer_norm_grad",
                                           .nin_min = 5,
                                           .nin_max = 6,
                                           .nout = 3,
                                           .infer = infer,
                                           .decompose = decompose,
                                           .reference = reference,
                                           .cpu = &cpu,
                                           .cuda = &layer_norm_grad_cuda};

OP_TRAITS(layer_norm_grad_cast, F32, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER,
          .low_out = 1 << LOW);
const tutti_op tutti_op_layer_norm_grad_cast = {.struct_size = sizeof(tutti_op),
                                                .traits = &layer_norm_grad_cast_traits,
                                                .flags = TUTTI_OP_FUSED | TUTTI_OP_HALF |
                                                         TUTTI_OP_REPRODUCIBLE,
                                                .name = "layer_norm_grad_cast",
                                                .nin_min = 5,
                                                .nin_max = 6,
                                                .nout = 4,
                                                .infer = infer_cast,
                                                .decompose = decompose_cast,
                                                .reference = reference_cast,
                                                .cpu = &cpu,
                                                .cuda = &layer_norm_grad_cuda};
