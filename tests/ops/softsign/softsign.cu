/* softsign.cu - softsign and its gradient on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "softsign.h"
#include "tutti/half.h"

/* F32 or BF16, as `low` says. */
__device__ static float read(const void *x, int32_t low, int64_t k)
{
    if (!low)
        return static_cast<const float *>(x)[k];
    const uint32_t bits = (uint32_t) static_cast<const uint16_t *>(x)[k] << 16;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

__device__ static void write(void *y, int32_t low, int64_t k, float value)
{
    if (low)
        static_cast<uint16_t *>(y)[k] = tutti_to_bf16(value);
    else
        static_cast<float *>(y)[k] = value;
}

TUTTI_KERNEL(softsign_cuda)(const void *x, void *y, int32_t low_x, int32_t low_y, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        write(y, low_y, k, softsign(read(x, low_x, k)));
    }
}
TUTTI_KERNEL_ENTRY(softsign_cuda);

TUTTI_KERNEL(softsign_grad_cuda)
(const void *dy, const void *x, void *dx, int32_t low_dy, int32_t low_x, int32_t low_dx,
 int64_t n)
{
    TUTTI_EACH(k, n)
    {
        write(dx, low_dx, k, softsign_grad(read(dy, low_dy, k), read(x, low_x, k)));
    }
}
TUTTI_KERNEL_ENTRY(softsign_grad_cuda);
