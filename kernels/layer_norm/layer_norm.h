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

/* Of one row in F32, in multiples of 64. */
uint64_t layer_norm_row_bytes(const tutti_desc *x);
/* Operand k, (C), as F32: beside an x of rank 1 it may have 16 bits, and then takes the first bytes of *space, 64-byte
 * aligned, which moves behind them. */
uint64_t layer_norm_weight_bytes(const tutti_op_call *c, uint32_t k);
const float *layer_norm_weight(const tutti_op_call *c, uint32_t k, const void *data,
                               char **space);

/* Rows of n: y = (x - mean) rstd gamma + beta.  x, y and low are F32, BF16 or F16, each by itself; the bits are those of F32
 * between conversions.  Where they have one dtype, y may be x. */
typedef struct layer_norm_part {
    const void *x;
    const float *gamma, *beta;
    void *y, *low; /* low: y once more; NULL: no such */
    float *mean, *rstd;
    float *row; /* n floats of this thread's own; not used where all is F32 */
    double eps;
    int64_t n;
    int32_t x_dtype, y_dtype, low_dtype;
} layer_norm_part;

/* Rows [first, end). */
void layer_norm_forward(const layer_norm_part *q, int64_t first, int64_t end);
TUTTI_ISA_VARIANTS(layer_norm_forward);

/* Rows that the gradient takes at a time, and what it reads and writes of them besides F32. */
enum { LAYER_NORM_ROWS = 4, LAYER_NORM_HALVES = 4 };

/* Rows of n and their gradient: dx, which may be x, dy or more of its dtype; dgamma, dbeta (n) are added to in f32.  x, dy,
 * more, dx and low are F32, BF16 or F16, each by itself; the bits are those of F32 between conversions. */
typedef struct layer_norm_grad_part {
    const void *x, *dy;
    const float *gamma, *mean, *rstd;
    const void *more; /* added to dx; NULL: nothing */
    void *dx, *low;   /* low: dx once more; NULL: no such */
    float *dgamma, *dbeta;
    float *
        rows; /* LAYER_NORM_HALVES times LAYER_NORM_ROWS rows of this thread's own; not used where all is F32 */
    int64_t n;
    int32_t x_dtype, dy_dtype, more_dtype, dx_dtype, low_dtype;
} layer_norm_grad_part;

/* Of rows [first, end). */
void layer_norm_backward(const layer_norm_grad_part *q, int64_t first, int64_t end);
TUTTI_ISA_VARIANTS(layer_norm_backward);

extern const tutti_kernel layer_norm_cuda, layer_norm_grad_cuda;
extern const tutti_op tutti_op_layer_norm, tutti_op_layer_norm_cast, tutti_op_layer_norm_grad,
    tutti_op_layer_norm_grad_cast;

#endif
