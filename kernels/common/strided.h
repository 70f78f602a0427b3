/* strided.h - copying between a dense tensor and a strided view of another, for any dtype. */
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

/* Where row `row` (all dimensions but the last, in dense order) begins. */
static inline int64_t strided_row(const strided *v, int64_t row)
{
    int64_t at = v->offset;
    for (int32_t k = v->rank - 2; k >= 0; k--) {
        at += row % v->dim[k] * v->stride[k];
        row /= v->dim[k];
    }
    return at;
}

/* One row: n elements of `size` bytes, strides in elements. */
static inline void strided_copy_row(char *to, int64_t st, const char *from, int64_t sf,
                                    int64_t n, uint64_t size)
{
    if (st == 1 && sf == 1) {
        memcpy(to, from, (size_t)n * size);
        return;
    }
    if (size == 4) {
        uint32_t *t = (uint32_t *)(void *)to;
        const uint32_t *f = (const uint32_t *)(const void *)from;
        for (int64_t i = 0; i < n; i++)
            t[i * st] = f[i * sf];
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (uint64_t)(i * st) * size, from + (uint64_t)(i * sf) * size, size);
}

/* Copies the dense tensor of v's shape `from` a view, or (`scatter`) `to` a view. */
static inline void strided_copy(const tutti_op_call *c, const strided *v, const void *from,
                                void *to, int scatter, uint64_t size)
{
    int64_t n = v->rank ? v->dim[v->rank - 1] : 1, rows = 1;
    const int64_t stride = v->rank ? v->stride[v->rank - 1] : 1;
    for (int32_t k = 0; k + 1 < v->rank; k++)
        rows *= v->dim[k];
    const int threads = op_threads(c, rows * n);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t r = 0; r < rows; r++) {
        const uint64_t there = (uint64_t)strided_row(v, r) * size,
                       here = (uint64_t)(r * n) * size;
        if (scatter)
            strided_copy_row((char *)to + there, stride, (const char *)from + here, 1, n, size);
        else
            strided_copy_row((char *)to + here, 1, (const char *)from + there, stride, n, size);
    }
}

/* Defines `reference`, `run` and `cpu` from move(c, in, out, size), which moves elements of `size`
 * bytes whatever they are: f64 in the reference. */
#define STRIDED_KERNEL(move)                                                                   \
    static tutti_status reference(const tutti_op_call *c, const double *const *in,             \
                                  double *const *out)                                          \
    {                                                                                          \
        return move(c, (const void *const *)in, (void *const *)out, sizeof(double));           \
    }                                                                                          \
    static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,        \
                            void *const *out, void *scratch)                                   \
    {                                                                                          \
        (void)state, (void)scratch;                                                            \
        return move(c, in, out, tutti_dtype_size(c->out[0].dtype));                            \
    }                                                                                          \
    static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

#endif
