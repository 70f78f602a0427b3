/* layer_norm.h - normalisation of each row over the last dimension (Ba, Kiros and Hinton 2016). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_LAYER_NORM_LAYER_NORM_H
#define KERNELS_LAYER_NORM_LAYER_NORM_H

#include "common/op_util.h"
#include "tutti/isa.h"

typedef struct layer_norm_attr {
    double eps;
} layer_norm_attr;

/* x seen as rows of `width` elements. */
static inline int64_t layer_norm_width(const tutti_desc *x)
{
    return x->dim[x->rank - 1];
}

static inline int64_t layer_norm_rows(const tutti_desc *x)
{
    int64_t rows = 1;
    for (int32_t k = 0; k + 1 < x->rank; k++)
        rows *= x->dim[k];
    return rows;
}

/* Shape of the statistics: x without its last dimension. */
static inline tutti_desc layer_norm_batch_dims(const tutti_desc *x)
{
    tutti_desc d = *x;
    d.dim[--d.rank] = 0;
    return d;
}

/* x is f32 of rank 1 or more with something in its rows. */
tutti_status layer_norm_want(const char *op, const tutti_desc *x, tutti_error *err);
/* Input `name` is f32 of shape `want`. */
tutti_status layer_norm_want_shape(const char *op, const char *name, const tutti_desc *d,
                                   const tutti_desc *want, tutti_error *err);

/* Rows of n: y = (x - mean) rstd gamma + beta; y may be x. */
void layer_norm_forward(const float *x, const float *gamma, const float *beta, double eps,
                        float *y, int64_t rows, int64_t n, float *mean, float *rstd);
TUTTI_ISA_VARIANTS(layer_norm_forward);

/* Rows of n and their gradient: dx, which may be x, dy or more; dgamma, dbeta (n) are added to in f32. */
typedef struct layer_norm_grad_part {
    const float *x, *dy, *gamma, *mean, *rstd;
    const float *more; /* added to dx; NULL: nothing */
    float *dx, *dgamma, *dbeta;
    int64_t n;
} layer_norm_grad_part;

/* Of rows [first, end). */
void layer_norm_backward(const layer_norm_grad_part *q, int64_t first, int64_t end);
TUTTI_ISA_VARIANTS(layer_norm_backward);

extern const tutti_kernel layer_norm_cuda, layer_norm_grad_cuda;
extern const tutti_op tutti_op_layer_norm, tutti_op_layer_norm_grad,
    tutti_op_layer_norm_grad_cast;

#endif
