/* matmul_epilogue.h - the maths of a product's epilogue (activation and its gradient), once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MATMUL_MATMUL_EPILOGUE_H
#define KERNELS_MATMUL_MATMUL_EPILOGUE_H

#include "gelu/gelu.h"
#include "relu/relu.h"

/* `act` is 1 (ReLU), 2 (GELU) or 3 (GELU, tanh form). */
TUTTI_HD float matmul_act_f32(float z, int64_t act)
{
    const gelu_attr form = {act == 3};
    return act == 1 ? relu_f32(z) : gelu_f32(z, &form);
}

/* dy act'(x); for ReLU x may be its result too. */
TUTTI_HD float matmul_act_grad_f32(float dy, float x, int64_t act)
{
    const gelu_attr form = {act == 3};
    return act == 1 ? relu_grad_f32(dy, x) : gelu_grad_f32(dy, x, &form);
}

TUTTI_HD double matmul_act_f64(double z, int64_t act)
{
    const gelu_attr form = {act == 3};
    return act == 0 ? z : act == 1 ? relu_f64(z) : gelu_f64(z, &form);
}

TUTTI_HD double matmul_act_grad_f64(double dy, double x, int64_t act)
{
    const gelu_attr form = {act == 3};
    return act == 1 ? relu_grad_f64(dy, x) : gelu_grad_f64(dy, x, &form);
}

#endif
