/* matmul_epilogue.c - the epilogue of a product: activations and their gradients over its results. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul_epilogue.h"
#include "common/half_rows.h"
#include "matmul/matmul.h"

#include <string.h>

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

void matmul_epilogue_apply(const matmul_epilogue *epilogue, float *y, int64_t first, int64_t n)
{
    typedef void loop(const float *, float *, int64_t);
    static loop *const acts[] = {relu, gelu, gelu_tanh};
    static loop *const grads[] = {relu_grad, gelu_grad, gelu_tanh_grad};
    float *to = y + first;
    if (epilogue->x)
        grads[epilogue->act - 1](epilogue->x + first, to, n);
    else
        acts[epilogue->act - 1](epilogue->z ? epilogue->z + first : to, to, n);
}

static void put(const float *s, void *to, int32_t dtype, int64_t first, int64_t n)
{
    if (dtype == TUTTI_BF16)
        half_downcast(s, (uint16_t *)to + first, TUTTI_BF16, n);
    else
        memcpy((float *)to + first, s, (size_t)n * sizeof *s);
}

void matmul_store_row(const matmul_store *to, float *s, int64_t first, int64_t n)
{
    float x[MATMUL_STORE];
    const matmul_epilogue epilogue = {to->act, NULL, to->x ? x : NULL};
    if (to->z)
        put(s, to->z, to->z_dtype, first, n);
    if (to->x && to->x_dtype == TUTTI_BF16)
        half_upcast((const uint16_t *)to->x + first, TUTTI_BF16, x, n);
    else if (to->x)
        memcpy(x, (const float *)to->x + first, (size_t)n * sizeof *x);
    if (to->act)
        matmul_epilogue_apply(&epilogue, s, 0, n);
    put(s, to->y, to->y_dtype, first, n);
}
