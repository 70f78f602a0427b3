/* adam.cu - Adam's step on a GPU: one pass over weights, gradients and averages. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "adam_step.h"

TUTTI_KERNEL(adam_step_cuda)
(float *w, const float *g, float *m, float *v, float beta1, float beta2, float rest1,
 float rest2, float shrink, float rate, float correct, float eps, int64_t n)
{
    const adam_step c = {beta1, beta2, rest1, rest2, shrink, rate, correct, eps};
    TUTTI_EACH(k, n)
    {
        adam_average(&m[k], &v[k], g[k], c);
        w[k] = adam_move(w[k], m[k], v[k], c);
    }
}
TUTTI_KERNEL_ENTRY(adam_step_cuda);

/* The same with the largest v so far in the denominator. */
TUTTI_KERNEL(amsgrad_step_cuda)
(float *w, const float *g, float *m, float *v, float *most, float beta1, float beta2,
 float rest1, float rest2, float shrink, float rate, float correct, float eps, int64_t n)
{
    const adam_step c = {beta1, beta2, rest1, rest2, shrink, rate, correct, eps};
    TUTTI_EACH(k, n)
    {
        adam_average(&m[k], &v[k], g[k], c);
        most[k] = v[k] > most[k] ? v[k] : most[k];
        w[k] = adam_move(w[k], m[k], most[k], c);
    }
}
TUTTI_KERNEL_ENTRY(amsgrad_step_cuda);
