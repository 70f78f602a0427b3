/* strided.h - copies between a dense tensor and a strided view of another, for any dtype. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_STRIDED_H
#define KERNELS_COMMON_STRIDED_H

#include "common/op_util.h"

#include <string.h>

/* A view: element (i0, i1 ...) lies at offset + sum of i_k * stride_k elements. */
typedef struct strided {
    int32_t rank;
    int32_t reserved;
    int64_t offset;
    int64_t dim[TUTTI_MAX_RANK];
    int64_t stride[TUTTI_MAX_RANK];
} strided;

static inline strided strided_dense(const tutti_desc *d)
{
    strided v = {.rank = d->rank};
    int64_t stride = 1;
    for (int32_t k = d->rank - 1; k >= 0; k--) {
        v.dim[k] = d->dim[k];
        v.stride[k] = stride;
        stride *= d->dim[k];
    }
    return v;
}

/* The same elements in as few dimensions as possible, at least one. */
static inline strided strided_merged(const strided *v)
{
    strided m = {.rank = 0, .offset = v->offset};
    for (int32_t k = 0; k < v->rank; k++) {
        const int32_t p = m.rank - 1;
        if (v->dim[k] == 1)
            continue;
        if (p >= 0 && m.stride[p] == v->stride[k] * v->dim[k]) {
            m.dim[p] *= v->dim[k];
            m.stride[p] = v->stride[k];
            continue;
        }
        m.dim[m.rank] = v->dim[k];
        m.stride[m.rank++] = v->stride[k];
    }
    if (m.rank == 0) {
        m.dim[0] = m.stride[0] = 1;
        m.rank = 1;
    }
    return m;
}

/* Where row `row` (all dimensions but the last, in dense order) begins. */
static inline int64_t strided_row(const strided *v, int64_t row)
{
    int64_t at = v->offset;
    for (int32_t k = v->rank - 2; k > 0; k--) {
        at += row % v->dim[k] * v->stride[k];
        row /= v->dim[k];
    }
    return v->rank > 1 ? at + row * v->stride[0] : at;
}

/* The same, row by row, without a division for each. */
typedef struct strided_iter {
    int64_t at;
    int64_t i[TUTTI_MAX_RANK];
} strided_iter;

static inline strided_iter strided_iter_from(const strided *v, int64_t row)
{
    strided_iter w = {.at = strided_row(v, row)};
    for (int32_t k = v->rank - 2; k >= 0; k--) {
        w.i[k] = row % v->dim[k];
        row /= v->dim[k];
    }
    return w;
}

static inline void strided_iter_on(const strided *v, strided_iter *w)
{
    for (int32_t k = v->rank - 2; k >= 0; k--) {
        w->at += v->stride[k];
        if (++w->i[k] < v->dim[k])
            return;
        w->at -= v->dim[k] * v->stride[k];
        w->i[k] = 0;
    }
}

#define STRIDED_LOOP(type)                                                                     \
    for (int64_t i = 0; i < n; i++)                                                            \
    ((type *)(void *)to)[i * st] = ((const type *)(const void *)from)[i * sf]

/* One row: n elements of `size` bytes, strides in elements. */
static inline void strided_copy_row(char *to, int64_t st, const char *from, int64_t sf,
                                    int64_t n, uint64_t size)
{
    if (st == 1 && sf == 1)
        memcpy(to, from, (size_t)n * size);
    else if (st == 1 && sf == 0 && size == 4) {
        const uint32_t same = *(const uint32_t *)(const void *)from;
        for (int64_t i = 0; i < n; i++)
            ((uint32_t *)(void *)to)[i] = same;
    } else if (size == 4)
        STRIDED_LOOP(uint32_t);
    else if (size == 8)
        STRIDED_LOOP(uint64_t);
    else if (size == 2)
        STRIDED_LOOP(uint16_t);
    else
        STRIDED_LOOP(uint8_t);
}

enum { STRIDED_TILE = 32 };

/* Rows [first, end) of a dense tensor out of a view whose elements lie side by side in dimension
 * `side`, not in the last one: in tiles, so that a cache line is read once. */
static inline void strided_transpose(const strided *v, int32_t side, const char *from, char *to,
                                     int64_t first, int64_t end, uint64_t size)
{
    const int64_t n = v->dim[v->rank - 1], stride = v->stride[v->rank - 1];
    int64_t apart = 1; /* rows from one step in `side` to the next */
    for (int32_t k = side + 1; k + 1 < v->rank; k++)
        apart *= v->dim[k];
    for (int64_t i = 0; i < n; i += STRIDED_TILE) {
        const int64_t wide = n - i < STRIDED_TILE ? n - i : STRIDED_TILE;
        for (int64_t r = first; r < end; r++) {
            /* the first of a tile's rows does the tile's others, as far as this part goes */
            const int64_t at = r / apart % v->dim[side];
            if (at % STRIDED_TILE && r - at % STRIDED_TILE * apart >= first)
                continue;
            for (int64_t q = r, a = at; q < end && a < v->dim[side]; q += apart, a++) {
                if (q != r && a % STRIDED_TILE == 0)
                    break;
                strided_copy_row(to + (uint64_t)(q * n + i) * size, 1,
                                 from + (strided_row(v, q) + i * stride) * (int64_t)size,
                                 stride, wide, size);
            }
        }
    }
}

/* Which dimension of a merged view has its elements side by side; the last one when none has. */
static inline int32_t strided_side(const strided *v)
{
    for (int32_t k = 0; k + 1 < v->rank; k++)
        if (v->stride[k] == 1)
            return k;
    return v->rank - 1;
}

/* Copies the dense tensor of v's shape `from` a view, or (`scatter`) `to` a view. */
static inline void strided_copy(const tutti_op_call *c, const strided *view, const void *from,
                                void *to, int scatter, uint64_t size)
{
    const strided v = strided_merged(view);
    const int32_t side = strided_side(&v);
    const int64_t n = v.dim[v.rank - 1], stride = v.stride[v.rank - 1];
    int64_t rows = 1;
    for (int32_t k = 0; k + 1 < v.rank; k++)
        rows *= v.dim[k];
    if (rows * n == 0)
        return;
    const int threads = op_threads(c, rows * n);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        int64_t first = 0, end = rows, begin = 0, count = n;
        if (rows < threads)
            count = op_chunk(n, t, threads, &begin);
        else {
            first = rows * t / threads;
            end = rows * (t + 1) / threads;
        }
        if (count == n && !scatter && side + 1 < v.rank && n > 1) {
            strided_transpose(&v, side, from, to, first, end, size);
            continue;
        }
        strided_iter w = strided_iter_from(&v, first);
        for (int64_t r = first; r < end; r++, strided_iter_on(&v, &w)) {
            const int64_t there = (w.at + begin * stride) * (int64_t)size,
                          here = (r * n + begin) * (int64_t)size;
            if (scatter)
                strided_copy_row((char *)to + there, stride, (const char *)from + here, 1,
                                 count, size);
            else
                strided_copy_row((char *)to + here, 1, (const char *)from + there, stride,
                                 count, size);
        }
    }
}

/* Defines `reference`, `run` and `cpu` (after a prefix) from move(c, in, out, size), which moves
 * elements of `size` bytes whatever they are: f64 in the reference. */
#define STRIDED_KERNEL_AS(prefix, move)                                                        \
    static tutti_status prefix##reference(const tutti_op_call *c, const double *const *in,     \
                                          double *const *out)                                  \
    {                                                                                          \
        return move(c, (const void *const *)in, (void *const *)out, sizeof(double));           \
    }                                                                                          \
    static tutti_status prefix##run(void *state, const tutti_op_call *c,                       \
                                    const void *const *in, void *const *out, void *scratch)    \
    {                                                                                          \
        (void)state, (void)scratch;                                                            \
        return move(c, in, out, tutti_dtype_size(c->out[0].dtype));                            \
    }                                                                                          \
    static const tutti_kernel prefix##cpu = {sizeof(tutti_kernel), 0, NULL, prefix##run, NULL};

#define STRIDED_KERNEL(move) STRIDED_KERNEL_AS(, move)

#endif
