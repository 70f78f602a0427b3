/* adam.cu - Adam's step on a GPU: one pass over weights, gradients and averages. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "adam_step.h"

/* One thread of a block takes the powers. */
TUTTI_KERNEL(adam_step_cuda)
(float *w, const float *g, float *m, float *v, uint16_t *low, const double *now, double beta1,
 double beta2, double eps, double weight_decay, double lr_initial, int32_t decay,
 int32_t low_dtype, int64_t n)
{
    TUTTI_BLOCK(adam_step, block, 1);
    const adam_rule r = {beta1, beta2, eps, weight_decay, lr_initial, decay, 0};
    if (threadIdx.x == 0)
        *block = adam_now(r, now);
    __syncthreads();
    const adam_step c = *block;
    if (now[TUTTI_UPDATE_SKIP] != 0.0)
        return;
    TUTTI_EACH(k, n)
    {
        adam_average(w[k], &m[k], &v[k], g[k], c);
        const float x = adam_move(w[k], m[k], v[k], c);
        w[k] = x;
        if (low)
            low[k] = tutti_to_half(x, low_dtype);
    }
}
TUTTI_KERNEL_ENTRY(adam_step_cuda);

/* The same with the largest v so far in the denominator. */
TUTTI_KERNEL(amsgrad_step_cuda)
(float *w, const float *g, float *m, float *v, float *most, uint16_t *low, const double *now,
 double beta1, double beta2, double eps, double weight_decay, double lr_initial,
 int32_t decay, int32_t low_dtype, int64_t n)
{
    TUTTI_BLOCK(adam_step, block, 1);
    const adam_rule r = {beta1, beta2, eps, weight_decay, lr_initial, decay, 0};
    if (threadIdx.x == 0)
        *block = adam_now(r, now);
    __syncthreads();
    const adam_step c = *block;
    if (now[TUTTI_UPDATE_SKIP] != 0.0)
        return;
    TUTTI_EACH(k, n)
    {
        adam_average(w[k], &m[k], &v[k], g[k], c);
        most[k] = v[k] > most[k] ? v[k] : most[k];
        const float x = adam_move(w[k], m[k], most[k], c);
        w[k] = x;
        if (low)
            low[k] = tutti_to_half(x, low_dtype);
    }
}
TUTTI_KERNEL_ENTRY(amsgrad_step_cuda);
