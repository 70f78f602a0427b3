/* rms_norm.h - division of each row by its root mean square (Zhang and Sennrich 2019). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_RMS_NORM_RMS_NORM_H
#define KERNELS_RMS_NORM_RMS_NORM_H

#include "common/op_util.h"
#include "tutti/isa.h"

typedef struct rms_norm_attr {
    double eps;
} rms_norm_attr;

/* x seen as rows of `width` elements. */
static inline int64_t rms_norm_width(const tutti_desc *x)
{
    return x->dim[x->rank - 1];
}

static inline int64_t rms_norm_rows(const tutti_desc *x)
{
    int64_t rows = 1;
    for (int32_t k = 0; k + 1 < x->rank; k++)
        rows *= x->dim[k];
    return rows;
}

/* Shape of rstd: x without its last dimension. */
static inline tutti_desc rms_norm_batch_dims(const tutti_desc *x)
{
    tutti_desc d = *x;
    d.dim[--d.rank] = 0;
    return d;
}

/* rstd, or its gradient, as a column beside x. */
static inline tutti_value rms_norm_column(tutti_graph *g, tutti_value v)
{
    tutti_desc d = *g->desc(g, v);
    d.dim[d.rank++] = 1;
    return tutti_reshape(g, v, d.dim, (uint32_t)d.rank);
}

/* x is f32 of rank 1 or more with something in its rows. */
tutti_status rms_norm_want(const char *op, const tutti_desc *x, tutti_error *err);
/* Input `name` is f32 of shape `want`. */
tutti_status rms_norm_want_shape(const char *op, const char *name, const tutti_desc *d,
                                 const tutti_desc *want, tutti_error *err);

/* Rows of n: y = x rstd gamma; y may be x. */
void rms_norm_forward(const float *x, const float *gamma, double eps, float *y, int64_t rows,
                      int64_t n, float *rstd);
TUTTI_ISA_VARIANTS(rms_norm_forward);

/* Rows of n and their gradient: dx, which may be x, dy or more; dgamma (n) is added to in f32. */
typedef struct rms_norm_grad_part {
    const float *x, *dy, *gamma, *rstd;
    const float *more; /* added to dx; NULL: nothing */
    float *dx, *dgamma;
    int64_t n;
} rms_norm_grad_part;

/* Of rows [first, end). */
void rms_norm_backward(const rms_norm_grad_part *q, int64_t first, int64_t end);
TUTTI_ISA_VARIANTS(rms_norm_backward);

extern const tutti_kernel rms_norm_cuda, rms_norm_grad_cuda;
extern const tutti_op tutti_op_rms_norm, tutti_op_rms_norm_grad;

#endif
