/* matmul_end.c - activations and their gradients over a product's results. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul_end.h"
#include "matmul/matmul.h"

/* Loops of their own, so that each has no choices in it. */
#define LOOPS(name, act)                                                                       \
    static void name(const float *z, float *y, int64_t n)                                      \
    {                                                                                          \
        OP_LOOP for (int64_t i = 0; i < n; i++) y[i] = matmul_act_f32(z[i], act);              \
    }                                                                                          \
    static void name##_grad(const float *x, float *y, int64_t n)                               \
    {                                                                                          \
        OP_LOOP for (int64_t i = 0; i < n; i++) y[i] = matmul_act_grad_f32(y[i], x[i], act);   \
    }
LOOPS(relu, MATMUL_RELU)
LOOPS(gelu, MATMUL_GELU)
LOOPS(gelu_tanh, MATMUL_GELU_TANH)

void matmul_finish(const matmul_end *end, float *y, int64_t first, int64_t n)
{
    typedef void loop(const float *, float *, int64_t);
    static loop *const acts[] = {relu, gelu, gelu_tanh};
    static loop *const grads[] = {relu_grad, gelu_grad, gelu_tanh_grad};
    float *to = y + first;
    if (end->x)
        grads[end->act - 1](end->x + first, to, n);
    else
        acts[end->act - 1](end->z ? end->z + first : to, to, n);
}
