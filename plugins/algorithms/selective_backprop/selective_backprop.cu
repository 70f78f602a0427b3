/* selective_backprop.cu - smaller images to select by, and the rows that were selected, on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../pixel.h"
#include "scale.h"

/* x: images (h, w, channels); y: n numbers, images (high, wide, channels). */
TUTTI_KERNEL(selective_backprop_scale_cuda)
(const float *x, float *y, double scale, int64_t h, int64_t w, int64_t high, int64_t wide,
 int64_t channels, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        const int64_t column = k / channels % wide, row = k / channels / wide;
        y[k] = scale_value(x + row / high * h * w * channels, w, channels, k % channels,
                           scale_at(row % high, scale, h), scale_at(column, scale, w));
    }
}
TUTTI_KERNEL_ENTRY(selective_backprop_scale_cuda);

/* y: n units of `unit` bytes, `row` of them a sample. */
TUTTI_KERNEL(selective_backprop_pick_cuda)
(const uint8_t *x, uint8_t *y, const uint32_t *picked, int64_t row, int64_t unit, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        pixel_copy(y + k * unit, x + pixel_picked(picked, row, k) * unit, unit);
    }
}
TUTTI_KERNEL_ENTRY(selective_backprop_pick_cuda);
