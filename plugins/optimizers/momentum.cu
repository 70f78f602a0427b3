/* momentum.cu - gradient descent on a GPU: one pass over weights, gradients and momentum. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "momentum_step.h"

TUTTI_KERNEL(momentum_step_cuda)
(float *w, const float *g, float *buf, float couple, float keep, float take, float direct,
 float follow, float shrink, float lr, int64_t n)
{
    const momentum_step c = {couple, keep, take, direct, follow, shrink, lr};
    TUTTI_EACH(k, n)
    {
        w[k] = momentum_move(w[k], g[k], &buf[k], c);
    }
}
TUTTI_KERNEL_ENTRY(momentum_step_cuda);

TUTTI_KERNEL(plain_step_cuda)
(float *w, const float *g, float couple, float shrink, float lr, int64_t n)
{
    const momentum_step c = {couple, 0.0f, 0.0f, 0.0f, 0.0f, shrink, lr};
    TUTTI_EACH(k, n)
    {
        w[k] = plain_move(w[k], g[k], c);
    }
}
TUTTI_KERNEL_ENTRY(plain_step_cuda);
