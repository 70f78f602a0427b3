/* colout.cu - kept rows and columns of a batch of images on a GPU: a thread a pixel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../pixel.h"

/* x: images of height x width pixels of `pixel` bytes; y: n pixels, high x wide an image. */
TUTTI_KERNEL(colout_keep_cuda)
(const uint8_t *x, uint8_t *y, const uint32_t *rows, const uint32_t *columns, int64_t height,
 int64_t width, int64_t high, int64_t wide, int64_t pixel, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        const int64_t image = k / (high * wide), at = k % (high * wide);
        const int64_t from = (image * height + rows[at / wide]) * width + columns[at % wide];
        pixel_copy(y + k * pixel, x + from * pixel, pixel);
    }
}
TUTTI_KERNEL_ENTRY(colout_keep_cuda);
