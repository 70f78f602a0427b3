/* norm_cuda.h - a number divided by the norm of all gradients, on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_NORM_CUDA_H
#define PLUGIN_NORM_CUDA_H

#include "../common/squares_cuda.h"
#include "norm_step.h"

TUTTI_KERNEL(norm_quotient_cuda)
(const double *parts, int64_t count, double number, double epsilon, double most,
 float *quotient)
{
    TUTTI_BLOCK(double, lanes, SQUARES_LANES);
    const double sum = squares_total(lanes, parts, count);
    if (threadIdx.x == 0)
        *quotient = norm_quotient(sum, number, epsilon, most);
}
TUTTI_KERNEL_ENTRY(norm_quotient_cuda);

#endif
