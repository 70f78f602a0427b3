/* weight_average.cu - averages of weights on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "weight_average_step.h"

TUTTI_KERNEL(average_blend_cuda)
(float *value, const float *weight, float keep, float take, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        value[k] = average_blended(value[k], weight[k], keep, take);
    }
}
TUTTI_KERNEL_ENTRY(average_blend_cuda);

TUTTI_KERNEL(average_approach_cuda)
(float *value, const float *weight, float take, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        value[k] = average_nearer(value[k], weight[k], take);
    }
}
TUTTI_KERNEL_ENTRY(average_approach_cuda);

TUTTI_KERNEL(average_exchange_cuda)
(float *value, float *weight, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        const float held = value[k];
        value[k] = weight[k];
        weight[k] = held;
    }
}
TUTTI_KERNEL_ENTRY(average_exchange_cuda);
