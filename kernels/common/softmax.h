/* softmax.h - operations of rows of exponentials: what softmax and its logarithm share but for their rows. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_SOFTMAX_H
#define KERNELS_COMMON_SOFTMAX_H

#include "common/axis.h"
#include "common/softmax_row.h"

/* ---- what softmax and log_softmax are but for their rows ---- */

typedef struct softmax_attr {
    int64_t axis; /* -1: the last */
} softmax_attr;

static const tutti_attr_field softmax_fields[] = {OP_FIELD_I64(softmax_attr, axis, -1)};

static inline tutti_status softmax_infer(const char *op, const tutti_op_call *c,
                                         tutti_desc *out, tutti_error *err)
{
    int32_t axis;
    const tutti_status s =
        op_axis(op, ((const softmax_attr *)c->attr)->axis, c->in[0].rank, &axis, err);
    *out = c->in[0];
    return s ? s : op_want_f32(op, "x", &c->in[0], err);
}

/* One row for each thread, for an axis that is not the last. */
static inline uint64_t softmax_scratch(const tutti_op_call *c)
{
    const axis_view v = axis_of(&c->in[0], ((const softmax_attr *)c->attr)->axis);
    return v.inner > 1 ? (uint64_t)c->threads * (uint64_t)v.n * sizeof(float) : 0;
}

/* Calls row(x, y, n) for every row along the axis; y may be x. */
static inline void softmax_rows(const tutti_op_call *c, const float *x, float *y,
                                float *scratch,
                                void (*row)(const float *x, float *y, int64_t n))
{
    const axis_view v = axis_of(&c->in[0], ((const softmax_attr *)c->attr)->axis);
    const int64_t rows = v.outer * v.inner;
    const int threads = op_threads(c, rows * v.n * 8);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        float *own = scratch ? scratch + (int64_t)t * v.n : NULL;
        for (int64_t r = rows * t / threads; r < rows * (t + 1) / threads; r++) {
            const int64_t at = r / v.inner * v.n * v.inner + r % v.inner;
            if (v.inner == 1) {
                row(x + at, y + at, v.n);
                continue;
            }
            for (int64_t k = 0; k < v.n; k++)
                own[k] = x[at + k * v.inner];
            row(own, own, v.n);
            for (int64_t k = 0; k < v.n; k++)
                y[at + k * v.inner] = own[k];
        }
    }
}

/* Defines infer, prepare, run, cpu and the descriptor from row(x, y, n), a reference and a vjp. */
#define SOFTMAX_OP(op, row)                                                                    \
    static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)       \
    {                                                                                          \
        return softmax_infer(#op, c, out, err);                                                \
    }                                                                                          \
    static tutti_status prepare(const tutti_op_call *c, void **ret_state,                      \
                                uint64_t *ret_scratch, tutti_error *err)                       \
    {                                                                                          \
        (void)ret_state, (void)err;                                                            \
        *ret_scratch = softmax_scratch(c);                                                     \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,        \
                            void *const *out, void *scratch)                                   \
    {                                                                                          \
        (void)state;                                                                           \
        softmax_rows(c, in[0], out[0], scratch, row);                                          \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,                 \
                                     uint64_t *ret_scratch, tutti_error *err)                  \
    {                                                                                          \
        (void)ret_scratch;                                                                     \
        return softmax_cuda_prepare(c, #op "_rows", #op "_columns", ret_state, err);           \
    }                                                                                          \
    static const tutti_kernel cpu = {sizeof(tutti_kernel), 1, prepare, run, NULL};             \
    static const tutti_kernel cuda = {sizeof(tutti_kernel), 1, cuda_prepare, softmax_cuda_run, \
                                      NULL};                                                   \
    OP_DEFINE(op, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,                  \
              OP_ATTR(softmax_attr, softmax_fields), .infer = infer, .vjp = vjp,               \
              .reference = reference, .cpu = &cpu, .cuda = &cuda)

#endif
