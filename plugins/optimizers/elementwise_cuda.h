/* elementwise_cuda.h - the kernel for GPUs of an optimizer with one formula an element: NAME_step_cuda.
 *
 * One thread of a block computes the coefficients; each element is one thread's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELEMENTWISE_CUDA_H
#define ELEMENTWISE_CUDA_H

#include "tutti/cuda_code.h"
#include "tutti/half.h"
#include "tutti/optimizer.h"

#define ELEMENTWISE_CUDA(name)                                                                 \
    TUTTI_KERNEL(name##_step_cuda)                                                             \
    (float *w, const float *g, float *a, float *b, float *d, uint16_t *low, const double *now, \
     double s0, double s1, double s2, double s3, double s4, double s5, int32_t variant,        \
     int32_t low_dtype, int64_t n)                                                             \
    {                                                                                          \
        TUTTI_BLOCK(name##_step, block, 1);                                                    \
        const double settings[] = {s0, s1, s2, s3, s4, s5};                                    \
        if (threadIdx.x == 0)                                                                  \
            *block = name##_at(settings, variant, now[TUTTI_UPDATE_LR],                        \
                               now[TUTTI_UPDATE_STEP], now[TUTTI_UPDATE_FACTOR]);              \
        __syncthreads();                                                                       \
        const name##_step c = *block;                                                          \
        if (now[TUTTI_UPDATE_SKIP] != 0.0)                                                     \
            return;                                                                            \
        TUTTI_EACH(k, n)                                                                       \
        {                                                                                      \
            const float x = name##_move(w[k], g[k], a ? a + k : a, b ? b + k : b,              \
                                        d ? d + k : d, c, variant);                            \
            w[k] = x;                                                                          \
            if (low)                                                                           \
                low[k] = tutti_to_half(x, low_dtype);                                          \
        }                                                                                      \
    }                                                                                          \
    TUTTI_KERNEL_ENTRY(name##_step_cuda)

#endif
