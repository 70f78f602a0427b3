/* softmax_cross_entropy.h - cross entropy against classes or soft targets: what its operations share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SOFTMAX_CROSS_ENTROPY_H
#define KERNELS_SOFTMAX_CROSS_ENTROPY_H

#include "common/op_util.h"

/* logits (..., N), rank 2 or more, such as (B, N) or (B, T, N); each row is a b below.  target: classes
 * (...) in i32 or i64, or weights (..., N) f32, which need not sum to 1.  The loss is (...).
 * loss_b = sum_n t_bn (log sum_m exp(z_bm) - z_bn)
 * dz_bn = dloss_b (softmax(z)_bn sum_m t_bm - t_bn), dt_bn = dloss_b (lse_b - z_bn)
 * A row whose class is `ignore_index` has neither loss nor gradient.  With `columns` N is that and not the rows'
 * length: what lies behind is not read and has no gradient. */
typedef struct xent_attr {
    int64_t ignore_index; /* -100 is PyTorch's */
    int64_t columns;      /* 0: all */
} xent_attr;

static inline int64_t xent_rows(const tutti_desc *z)
{
    int64_t rows = 1;
    for (int32_t k = 0; k + 1 < z->rank; k++)
        rows *= z->dim[k];
    return rows;
}

/* From one row of logits to the next. */
static inline int64_t xent_pitch(const tutti_desc *z)
{
    return z->dim[z->rank - 1];
}

static inline int64_t xent_classes(const tutti_op_call *c)
{
    const int64_t columns = ((const xent_attr *)c->attr)->columns;
    return columns ? columns : xent_pitch(&c->in[0]);
}

/* Whether the targets are weights. */
static inline int xent_is_soft(const tutti_op_call *c)
{
    return !op_is_index(c->in[1].dtype);
}

/* softmax_cross_entropy_cuda.c */
extern const tutti_kernel xent_cuda, xent_grad_cuda, xent_and_grad_cuda;

#endif
