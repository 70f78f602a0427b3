/* to_float.cu - bytes of a batch of images as f32 on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes.h"

TUTTI_KERNEL(to_float_cuda)(const uint8_t *x, float *y, double max, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        y[k] = byte_value(x[k], max);
    }
}
TUTTI_KERNEL_ENTRY(to_float_cuda);
