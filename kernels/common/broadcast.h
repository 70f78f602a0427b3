/* broadcast.h - NumPy's broadcasting of two inputs, as few strides as possible. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_BROADCAST_H
#define KERNELS_COMMON_BROADCAST_H

#include "common/op_util.h"

/* The output as up to `rank` merged dimensions, with the inputs' strides in elements (0: repeated).
 * Dimensions that both inputs walk alike are merged into one. */
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

typedef void (*broadcast_row)(const float *a, int64_t sa, const float *b, int64_t sb,
                              float *out, int64_t n);

/* Walks rows (the last merged dimension), one long row cut among the threads. */
static inline void broadcast_rows(const tutti_op_call *c, const float *a, const float *b,
                                  float *out, broadcast_row row)
{
    const broadcast r = broadcast_make(&c->in[0], &c->in[1], &c->out[0]);
    const int64_t n = r.dim[r.rank - 1], sa = r.sa[r.rank - 1], sb = r.sb[r.rank - 1];
    int64_t rows = 1;
    for (int32_t k = 0; k + 1 < r.rank; k++)
        rows *= r.dim[k];
    const int threads = op_threads(c, rows * n);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        int64_t first = 0, count = rows, from = 0, length = n;
        if (rows == 1)
            length = op_share(n, t, threads, &from);
        else {
            const int64_t part = (rows + threads - 1) / threads;
            first = part * t < rows ? part * t : rows;
            count = first + part < rows ? part : rows - first;
        }
        for (int64_t k = first; k < first + count; k++) {
            int64_t ia, ib;
            broadcast_at(&r, k * n, &ia, &ib);
            row(a + ia + from * sa, sa, b + ib + from * sb, sb, out + k * n + from, length);
        }
    }
}

#endif
