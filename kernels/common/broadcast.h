/* broadcast.h - NumPy's broadcasting of two inputs, as few strides as possible. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_BROADCAST_H
#define KERNELS_COMMON_BROADCAST_H

#include "common/op_util.h"

/* The output as up to `rank` merged dimensions, with the inputs' strides in elements (0: repeated).
 * Dimensions that both inputs iterate over alike are merged into one. */
typedef struct broadcast {
    int32_t rank;
    int32_t reserved;
    int64_t dim[TUTTI_MAX_RANK];
    int64_t sa[TUTTI_MAX_RANK];
    int64_t sb[TUTTI_MAX_RANK];
} broadcast;

static inline tutti_status broadcast_shape(const char *op, const tutti_desc *a,
                                           const tutti_desc *b, tutti_desc *out,
                                           tutti_error *err)
{
    char ta[96], tb[96];
    *out = a->rank >= b->rank ? *a : *b;
    for (int32_t k = 1; k <= out->rank; k++) {
        const int64_t da = k <= a->rank ? a->dim[a->rank - k] : 1;
        const int64_t db = k <= b->rank ? b->dim[b->rank - k] : 1;
        if (da != db && da != 1 && db != 1)
            return tutti_fail(
                err, TUTTI_E_SHAPE, "%s: a is %s and b is %s, which do not broadcast", op,
                tutti_desc_text(a, ta, sizeof ta), tutti_desc_text(b, tb, sizeof tb));
        out->dim[out->rank - k] = da == 1 ? db : da;
    }
    return TUTTI_OK;
}

/* Strides of `d` seen as shape `out`; 0 where it repeats. */
static inline void broadcast_strides(const tutti_desc *d, const tutti_desc *out,
                                     int64_t *strides)
{
    int64_t stride = 1;
    for (int32_t k = 1; k <= out->rank; k++) {
        const int64_t dim = k <= d->rank ? d->dim[d->rank - k] : 1;
        strides[out->rank - k] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
}

static inline broadcast broadcast_make(const tutti_desc *a, const tutti_desc *b,
                                       const tutti_desc *out)
{
    broadcast r = {0};
    int64_t sa[TUTTI_MAX_RANK] = {0}, sb[TUTTI_MAX_RANK] = {0};
    broadcast_strides(a, out, sa);
    broadcast_strides(b, out, sb);
    for (int32_t k = 0; k < out->rank; k++) {
        if (out->dim[k] == 1)
            continue;
        const int32_t p = r.rank - 1;
        if (p >= 0 && r.sa[p] == sa[k] * out->dim[k] && r.sb[p] == sb[k] * out->dim[k]) {
            r.dim[p] *= out->dim[k];
            r.sa[p] = sa[k];
            r.sb[p] = sb[k];
            continue;
        }
        r.dim[r.rank] = out->dim[k];
        r.sa[r.rank] = sa[k];
        r.sb[r.rank++] = sb[k];
    }
    if (r.rank == 0)
        r.dim[r.rank++] = 1;
    return r;
}

/* Places of output element i in a and b. */
static inline void broadcast_at(const broadcast *r, int64_t i, int64_t *ret_a, int64_t *ret_b)
{
    int64_t a = 0, b = 0;
    for (int32_t k = r->rank - 1; k >= 0; k--) {
        const int64_t at = i % r->dim[k];
        i /= r->dim[k];
        a += at * r->sa[k];
        b += at * r->sb[k];
    }
    *ret_a = a;
    *ret_b = b;
}

/* What a loop does at a time: `rows` rows of `n` elements.  Within a row an input moves on by `step`
 * elements (0: repeated, or 1), from row to row by `row` elements; the output is dense. */
typedef struct broadcast_block {
    int64_t rows;
    int64_t n;
    int64_t row_a;
    int64_t row_b;
    int32_t step_a;
    int32_t step_b;
} broadcast_block;

typedef void (*broadcast_loop)(const void *attr, const float *a, const float *b, float *out,
                               const broadcast_block *block);

/* Thread t's part: some of the rows or, when there are fewer than threads, some of each row. */
static inline void broadcast_part(const broadcast *r, const void *attr, const float *a,
                                  const float *b, float *out, broadcast_loop loop, int t,
                                  int threads)
{
    const int32_t last = r->rank - 1;
    const int64_t n = r->dim[last], height = last ? r->dim[last - 1] : 1;
    int64_t rows = 1, first = 0, from = 0;
    for (int32_t k = 0; k < last; k++)
        rows *= r->dim[k];
    broadcast_block block = {.n = n,
                             .row_a = last ? r->sa[last - 1] : 0,
                             .row_b = last ? r->sb[last - 1] : 0,
                             .step_a = r->sa[last] != 0,
                             .step_b = r->sb[last] != 0};
    int64_t end = rows;
    if (rows < threads)
        block.n = op_chunk(n, t, threads, &from);
    else {
        first = rows * t / threads;
        end = rows * (t + 1) / threads;
    }
    while (block.n > 0 && first < end) {
        int64_t ia, ib;
        const int64_t left = height - first % height;
        block.rows = left < end - first ? left : end - first;
        /* a block that cuts rows has their full distance in `out` only one row at a time */
        if (block.n < n)
            block.rows = 1;
        broadcast_at(r, first * n + from, &ia, &ib);
        loop(attr, a + ia, b + ib, out + first * n + from, &block);
        first += block.rows;
    }
}

static inline void broadcast_run(const tutti_op_call *c, const void *const *in, void *out,
                                 broadcast_loop loop, int64_t cost)
{
    const broadcast r = broadcast_make(&c->in[0], &c->in[1], &c->out[0]);
    const int64_t n = tutti_numel(&c->out[0]);
    if (n == 0)
        return;
    const int threads = op_threads(c, n * cost);
    if (threads == 1) { /* as elementwise_run */
        broadcast_part(&r, c->attr, in[0], in[1], out, loop, 0, 1);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++)
        broadcast_part(&r, c->attr, in[0], in[1], out, loop, t, threads);
}

#endif
