/* strided.h - copies between a dense tensor and a strided view of another, for any dtype. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_STRIDED_H
#define KERNELS_COMMON_STRIDED_H

#include "common/op_util.h"
#include "common/strided_view.h"

#include <string.h>

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
