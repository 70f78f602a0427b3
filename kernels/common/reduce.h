/* reduce.h - sums over any axes: the axes as groups, and a kernel with a fixed order of addition. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_REDUCE_H
#define KERNELS_COMMON_REDUCE_H

#include "common/half_rows.h"
#include "common/op_util.h"
#include "common/simd.h"

#include <string.h>

/* Neighbouring axes that are all reduced, or all kept, merged; the first may be of either sort. */
typedef struct reduction {
    int32_t rank;
    int32_t reserved;
    int64_t dim[TUTTI_MAX_RANK];
    int32_t reduced[TUTTI_MAX_RANK];
} reduction;

static inline reduction reduction_make(const tutti_desc *x, const int32_t *reduced)
{
    reduction r = {0};
    for (int32_t k = 0; k < x->rank; k++) {
        if (r.rank && r.reduced[r.rank - 1] == reduced[k])
            r.dim[r.rank - 1] *= x->dim[k];
        else {
            r.dim[r.rank] = x->dim[k];
            r.reduced[r.rank++] = reduced[k];
        }
    }
    return r;
}

/* Which result element i of x belongs to. */
static inline int64_t reduction_at(const reduction *r, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int32_t k = r->rank - 1; k >= 0; k--) {
        if (!r->reduced[k]) {
            at += i % r->dim[k] * stride;
            stride *= r->dim[k];
        }
        i /= r->dim[k];
    }
    return at;
}

/* Adds up in f64, element by element: the definition. */
static inline void reduction_reference(const reduction *r, const double *x, double *y,
                                       int64_t nx, int64_t ny)
{
    for (int64_t i = 0; i < ny; i++)
        y[i] = 0.0;
    for (int64_t i = 0; i < nx; i++)
        y[reduction_at(r, i)] += x[i];
}

/* A row's sum: eight numbers a lane in f32, four lanes' sums joined, then f64: at most ten roundings,
 * so that the error is below 6e-7 of the sum of |x|. */
enum { REDUCE_TILE = 4 * SIMD_LANES, REDUCE_BLOCK = 8 * REDUCE_TILE };

static inline double reduce_row(const float *x, int64_t n)
{
    f64x8 total = {0};
    int64_t i = 0;
    while (n - i >= REDUCE_TILE) {
        const int64_t end =
            n - i < REDUCE_BLOCK ? n - REDUCE_TILE : i + REDUCE_BLOCK - REDUCE_TILE;
        f32x16 s[4] = {{0}};
        for (; i <= end; i += REDUCE_TILE)
            for (int k = 0; k < 4; k++) {
                s[k] += *(const f32x16 *)(x + i + k * SIMD_LANES);
                __builtin_prefetch(x + i + k * SIMD_LANES + SIMD_PREFETCH);
            }
        s[0] = (s[0] + s[1]) + (s[2] + s[3]);
        const f32x8 *half = (const f32x8 *)s;
        total += __builtin_convertvector(half[0], f64x8);
        total += __builtin_convertvector(half[1], f64x8);
    }
    double s = 0.0;
    for (; i < n; i++)
        s += (double)x[i];
    for (int k = 0; k < SIMD_LANES_F64; k++)
        s += total[k];
    return s;
}

/* A row in pieces whose sums are joined, so that threads may share it: numbers in a piece. */
static inline int64_t reduce_piece(int64_t n)
{
    const int64_t each = (n + OP_MOST_PARTS - 1) / OP_MOST_PARTS;
    return each < OP_SERIAL_BELOW ? OP_SERIAL_BELOW : each;
}

/* The sum of row x; part: a number a piece, OP_MOST_PARTS at most. */
static inline double reduce_pieces(const float *x, int64_t n, int threads, double *part)
{
    const int64_t piece = reduce_piece(n), count = (n + piece - 1) / piece;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t t = 0; t < count; t++)
        part[t] = reduce_row(x + piece * t, n - piece * t < piece ? n - piece * t : piece);
    double s = 0.0;
    for (int64_t t = 0; t < count; t++)
        s += part[t];
    return s;
}

/* Columns [i, i + 16) of eight rows, while the eight that come next are fetched. */
SIMD_INLINE void reduce_eight(const float *x, int64_t n, double *total)
{
    f32x16 s[4];
    for (int k = 0; k < 4; k++) {
        s[k] = *(const f32x16 *)(x + 2 * k * n) + *(const f32x16 *)(x + (2 * k + 1) * n);
        __builtin_prefetch(x + (2 * k + 8) * n);
        __builtin_prefetch(x + (2 * k + 9) * n);
    }
    s[0] = (s[0] + s[1]) + (s[2] + s[3]);
    simd_add_to(total, s);
}

/* total (n) += rows of x (count, n); eight rows are added up in f32: three roundings each. */
static inline void reduce_columns(const float *x, int64_t count, int64_t n, double *total)
{
    int64_t r = 0;
    for (; r + 8 <= count; r += 8) {
        const float *a = x + r * n;
        const int64_t whole = n / SIMD_LANES * SIMD_LANES;
        for (int64_t i = 0; i < whole; i += SIMD_LANES)
            reduce_eight(a + i, n, total + i);
        OP_LOOP for (int64_t i = whole; i < n; i++)
        {
            const float s = (a[i] + a[n + i]) + (a[2 * n + i] + a[3 * n + i]);
            const float t = (a[4 * n + i] + a[5 * n + i]) + (a[6 * n + i] + a[7 * n + i]);
            total[i] += (double)(s + t);
        }
    }
    for (; r < count; r++)
        for (int64_t i = 0; i < n; i++)
            total[i] += (double)x[r * n + i];
}

/* The same of rows [first, first + count) of x in F32 or BF16, to the same bits. */
static inline void reduce_rows_of(const void *x, int32_t dtype, int64_t first, int64_t count,
                                  int64_t n, double *total)
{
    enum { ROWS = 8, COLUMNS = 512 };
    float rows[ROWS * COLUMNS];
    if (dtype == TUTTI_F32) {
        reduce_columns((const float *)x + first * n, count, n, total);
        return;
    }
    for (int64_t r = 0; r < count; r += ROWS)
        for (int64_t i = 0; i < n; i += COLUMNS) {
            const int64_t high = count - r < ROWS ? count - r : ROWS;
            const int64_t wide = n - i < COLUMNS ? n - i : COLUMNS;
            for (int64_t k = 0; k < high; k++)
                half_upcast((const uint16_t *)x + (first + r + k) * n + i, dtype,
                            rows + k * wide, wide);
            reduce_columns(rows, high, wide, total + i);
        }
}

/* As (outer, reduced, inner), any of them 1; 0 when the axes are not of that form. */
static inline int reduction_simple(const reduction *r, int64_t *outer, int64_t *mid,
                                   int64_t *inner)
{
    int32_t k = 0;
    *outer = *mid = *inner = 1;
    if (k < r->rank && !r->reduced[k])
        *outer = r->dim[k++];
    if (k < r->rank && r->reduced[k])
        *mid = r->dim[k++];
    if (k < r->rank && !r->reduced[k])
        *inner = r->dim[k++];
    return k == r->rank;
}

/* Whether rows are so few that threads share each of them; the sums are the same either way. */
static inline int reduce_splits(int64_t outer, int64_t inner, int threads)
{
    return inner == 1 && outer < threads;
}

/* Whether reduce_run takes a call's dtypes: F32, or BF16 where rows are added up to one of F32. */
static inline int reduce_takes(const tutti_op_call *c, const reduction *r)
{
    int64_t outer, mid, inner;
    if (c->out[0].dtype != TUTTI_F32)
        return 0;
    return c->in[0].dtype == TUTTI_F32 ||
           (c->in[0].dtype == TUTTI_BF16 && reduction_simple(r, &outer, &mid, &inner) &&
            outer == 1 && inner > 1);
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
    const float *x = data; /* but for the last case below */
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
                reduce_columns(x + o * mid * inner, mid, inner, own);
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
