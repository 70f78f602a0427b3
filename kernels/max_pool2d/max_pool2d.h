/* max_pool2d.h - the largest of each window, its gradient, and the gradient's gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MAX_POOL2D_MAX_POOL2D_H
#define KERNELS_MAX_POOL2D_MAX_POOL2D_H

#include "common/half_rows.h"
#include "common/pool.h"

/* max_pool2d:        x (B, H, W, C) -> y (B, OH, OW, C), index i32: h * W + w of each largest
 * max_pool2d_grad:   dy, index -> dx; every index lies in its window
 * max_pool2d_gather: x, index -> y: x at the index; closes the family under differentiation */
/* What the CPU kernels of the first two take of 16 bits: images of BF16, whose results are BF16 too.  The numbers are
 * those of F32, rounded at the end. */
static inline int max_pool2d_is_bf16(const tutti_op_call *c)
{
    return c->in[0].dtype == TUTTI_BF16 && c->out[0].dtype == TUTTI_BF16;
}

static inline int max_pool2d_takes(const tutti_op_call *c)
{
    return (c->in[0].dtype == TUTTI_F32 && c->out[0].dtype == TUTTI_F32) ||
           max_pool2d_is_bf16(c);
}

extern const tutti_kernel max_pool2d_cuda, max_pool2d_grad_cuda, max_pool2d_gather_cuda;
extern const tutti_op tutti_op_max_pool2d, tutti_op_max_pool2d_grad, tutti_op_max_pool2d_gather;

#endif
