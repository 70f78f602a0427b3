/* progressive_resizing.cu - a batch of images made smaller on a GPU: a thread a pixel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../pixel.h"
#include "window.h"

/* y: n pixels of `pixel` bytes. */
TUTTI_KERNEL(progressive_resizing_cuda)
(const uint8_t *x, uint8_t *y, int32_t crop, int64_t h, int64_t w, int64_t high, int64_t wide,
 int64_t top, int64_t left, int64_t pixel, int64_t n)
{
    const window v = {h, w, high, wide, top, left};
    TUTTI_EACH(k, n)
    {
        const int64_t image = k / (high * wide), at = k % (high * wide);
        const int64_t row = window_row(&v, crop, at / wide);
        const int64_t from = (image * h + row) * w + window_column(&v, crop, at % wide);
        pixel_copy(y + k * pixel, x + from * pixel, pixel);
    }
}
TUTTI_KERNEL_ENTRY(progressive_resizing_cuda);
