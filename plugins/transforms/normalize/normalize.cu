/* normalize.cu - y = scale x + shift for a batch of images on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "channels.h"

TUTTI_KERNEL(normalize_bytes_cuda)
(const uint8_t *x, float *y, int64_t channels, float a0, float a1, float a2, float a3, float b0,
 float b1, float b2, float b3, int64_t n)
{
    const channels_line line = {{a0, a1, a2, a3}, {b0, b1, b2, b3}};
    TUTTI_EACH(k, n)
    {
        y[k] = channels_at(&line, (int)(k % channels), (float)x[k]);
    }
}
TUTTI_KERNEL_ENTRY(normalize_bytes_cuda);

TUTTI_KERNEL(normalize_floats_cuda)
(const float *x, float *y, int64_t channels, float a0, float a1, float a2, float a3, float b0,
 float b1, float b2, float b3, int64_t n)
{
    const channels_line line = {{a0, a1, a2, a3}, {b0, b1, b2, b3}};
    TUTTI_EACH(k, n)
    {
        y[k] = channels_at(&line, (int)(k % channels), x[k]);
    }
}
TUTTI_KERNEL_ENTRY(normalize_floats_cuda);
