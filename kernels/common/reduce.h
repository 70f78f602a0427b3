/* reduce.h - sums over any axes: a kernel with a fixed order of addition. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_REDUCE_H
#define KERNELS_COMMON_REDUCE_H

#include "common/op_util.h"
#include "common/reduce_sums.h"
#include "common/reduction.h"

#include <string.h>

/* Whether rows are so few that threads share each of them; the sums are the same either way. */
static inline int reduce_splits(int64_t outer, int64_t inner, int threads)
{
    return inner == 1 && outer < threads;
}

/* Whether reduce_run takes a call's dtypes: F32, or BF16 where rows are added up to rows of F32. */
static inline int reduce_takes(const tutti_op_call *c, const reduction *r)
{
    int64_t outer, mid, inner;
    if (c->out[0].dtype != TUTTI_F32)
        return 0;
    return c->in[0].dtype == TUTTI_F32 ||
           (c->in[0].dtype == TUTTI_BF16 && reduction_simple(r, &outer, &mid, &inner) &&
            inner > 1);
}

/* Scratch that reduce_run needs: partial columns, one row a thread, or partial sums, in f64. */
static inline uint64_t reduce_scratch(const reduction *r, int threads, int64_t ny)
{
    int64_t outer, mid, inner;
    if (!reduction_simple(r, &outer, &mid, &inner))
        return (uint64_t)ny * sizeof(double);
    if (inner == 1)
        return reduce_splits(outer, inner, threads) ? OP_MOST_PARTS * sizeof(double) : 0;
    return (uint64_t)(outer > 1 ? threads : op_parts(mid * inner)) * (uint64_t)inner *
           sizeof(double);
}

/* y = scale * sum; partial sums are f64, of parts that shapes alone tell, and join in their order. */
static inline void reduce_run(const tutti_op_call *c, const reduction *r, const void *data,
                              float *y, double scale, void *scratch)
{
    const float *x = data; /* but for the last two cases below */
    const int64_t nx = tutti_numel(&c->in[0]), ny = tutti_numel(&c->out[0]);
    if (ny == 0)
        return;
    int64_t outer, mid, inner;
    double *part = scratch;
    const int simple = reduction_simple(r, &outer, &mid, &inner);
    const int threads = op_threads(c, nx);
    if (!simple) {
        memset(part, 0, (size_t)ny * sizeof *part);
        const int64_t n = r->dim[r->rank - 1];
        const int sums = r->reduced[r->rank - 1];
        for (int64_t i = 0; i < nx; i += n) {
            const int64_t at = reduction_at(r, i);
            if (sums)
                part[at] += reduce_row(x + i, n);
            else
                reduce_columns(x + i, 1, n, part + at);
        }
        for (int64_t i = 0; i < ny; i++)
            y[i] = (float)(scale * part[i]);
    } else if (reduce_splits(outer, inner, threads)) {
        for (int64_t o = 0; o < outer; o++)
            y[o] = (float)(scale * reduce_pieces(x + o * mid, mid, threads, part));
    } else if (inner == 1) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
        for (int64_t o = 0; o < outer; o++) {
            double own[OP_MOST_PARTS];
            y[o] = (float)(scale * reduce_pieces(x + o * mid, mid, 1, own));
        }
    } else if (outer > 1) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
        for (int t = 0; t < threads; t++) {
            double *own = part + (int64_t)t * inner;
            const int64_t some = (outer + threads - 1) / threads;
            for (int64_t o = some * t; o < some * (t + 1) && o < outer; o++) {
                memset(own, 0, (size_t)inner * sizeof *own);
                reduce_rows_of(data, c->in[0].dtype, o * mid, mid, inner, own);
                for (int64_t i = 0; i < inner; i++)
                    y[o * inner + i] = (float)(scale * own[i]);
            }
        }
    } else {
        const int parts = op_parts(nx);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
        for (int t = 0; t < parts; t++) {
            const int64_t first = mid * t / parts, count = mid * (t + 1) / parts - first;
            memset(part + (int64_t)t * inner, 0, (size_t)inner * sizeof *part);
            reduce_rows_of(data, c->in[0].dtype, first, count, inner,
                           part + (int64_t)t * inner);
        }
        op_join_parts(part, parts, (uint64_t)inner, inner);
        for (int64_t i = 0; i < inner; i++)
            y[i] = (float)(scale * part[i]);
    }
}

/* Defines `reference`, `prepare`, `run` and `cpu` of scale * sum from make(c), the reduction, and an
 * expression for the scale. */
#define REDUCE_KERNEL(make, scale)                                                             \
    static tutti_status reference(const tutti_op_call *c, const double *const *in,             \
                                  double *const *out)                                          \
    {                                                                                          \
        const reduction r = make(c);                                                           \
        const int64_t ny = tutti_numel(&c->out[0]);                                            \
        reduction_reference(&r, in[0], out[0], tutti_numel(&c->in[0]), ny);                    \
        for (int64_t i = 0; i < ny; i++)                                                       \
            out[0][i] *= (scale);                                                              \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static tutti_status prepare(const tutti_op_call *c, void **ret_state,                      \
                                uint64_t *ret_scratch, tutti_error *err)                       \
    {                                                                                          \
        (void)ret_state, (void)err;                                                            \
        const reduction r = make(c);                                                           \
        if (!reduce_takes(c, &r))                                                              \
            return TUTTI_E_UNSUPPORTED; /* the host converts around it */                      \
        *ret_scratch = reduce_scratch(&r, c->threads, tutti_numel(&c->out[0]));                \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,        \
                            void *const *out, void *scratch)                                   \
    {                                                                                          \
        (void)state;                                                                           \
        const reduction r = make(c);                                                           \
        reduce_run(c, &r, in[0], out[0], (scale), scratch);                                    \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, NULL};

#endif
