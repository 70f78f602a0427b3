/* batch_norm.h - normalisation over all dimensions but the last, the channel. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_BATCH_NORM_BATCH_NORM_H
#define KERNELS_BATCH_NORM_BATCH_NORM_H

#include "common/op_util.h"

typedef struct batch_norm_attr {
    double eps;
    double momentum; /* weight of the new statistics in the running ones */
} batch_norm_attr;

/* x seen as rows of channels. */
static inline int64_t batch_norm_channels(const tutti_desc *x)
{
    return x->dim[x->rank - 1];
}

static inline int64_t batch_norm_rows(const tutti_desc *x)
{
    const int64_t c = batch_norm_channels(x);
    return c ? tutti_numel(x) / c : 0;
}

/* x has channels; inputs first to last of `c` are (C), named by `names`. */
tutti_status batch_norm_want(const char *op, const tutti_op_call *c, uint32_t first,
                             const char *const *names, tutti_error *err);

/* Loops over `rows` rows of `c` channels.  Sums are f64; they are added to what is there. */

/* sum(c) += x, square(c) += x^2 */
void batch_norm_sums(const float *x, int64_t rows, int64_t c, double *sum, double *square);
/* sum(c) += dy, product(c) += dy (x - mean) */
void batch_norm_grad_sums(const float *x, const float *dy, const float *mean, int64_t rows,
                          int64_t c, double *sum, double *product);
/* y = (x - mean) scale + shift; y may be x */
void batch_norm_apply(const float *x, float *y, int64_t rows, int64_t c, const float *mean,
                      const float *scale, const float *shift);
/* dx = dy a + (x - mean) b + shift; coef is mean, a, b, shift, c floats each; dx may be x or dy */
void batch_norm_grad_apply(const float *x, const float *dy, float *dx, int64_t rows, int64_t c,
                           const float *coef);

/* Each thread's share of rows is walked in blocks of this many rows, the second time from its end:
 * what the first time read last is still in the cache. */
enum { BATCH_NORM_BLOCK = 256 };

extern const tutti_op tutti_op_batch_norm, tutti_op_batch_norm_grad, tutti_op_batch_norm_eval;

#endif
