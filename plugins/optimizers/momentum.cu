/* momentum.cu - gradient descent on a GPU: one pass over weights, gradients and momentum. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "momentum_step.h"

TUTTI_KERNEL(momentum_step_cuda)
(float *w, const float *g, float *buf, uint16_t *low, const double *now, double keep,
 double dampening, double weight_decay, double lr_initial, int32_t nesterov, int32_t decoupled,
 int32_t low_dtype, int64_t n)
{
    const momentum_rule r = {keep, dampening, weight_decay, lr_initial, nesterov, decoupled};
    const momentum_step c = momentum_now(r, now);
    if (now[TUTTI_UPDATE_SKIP] != 0.0)
        return;
    TUTTI_EACH(k, n)
    {
        const float x = momentum_move(w[k], g[k], &buf[k], c);
        w[k] = x;
        if (low)
            low[k] = tutti_to_half(x, low_dtype);
    }
}
TUTTI_KERNEL_ENTRY(momentum_step_cuda);

TUTTI_KERNEL(plain_step_cuda)
(float *w, const float *g, uint16_t *low, const double *now, double weight_decay,
 double lr_initial, int32_t decoupled, int32_t low_dtype, int64_t n)
{
    const momentum_rule r = {0.0, 0.0, weight_decay, lr_initial, 0, decoupled};
    const momentum_step c = momentum_now(r, now);
    if (now[TUTTI_UPDATE_SKIP] != 0.0)
        return;
    TUTTI_EACH(k, n)
    {
        const float x = plain_move(w[k], g[k], c);
        w[k] = x;
        if (low)
            low[k] = tutti_to_half(x, low_dtype);
    }
}
TUTTI_KERNEL_ENTRY(plain_step_cuda);
