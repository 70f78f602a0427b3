/* cutout.cu - squares of images blanked on a GPU: a thread a byte of the squares. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/cuda_code.h"

/* x: images of height x width pixels of `pixel` bytes; n bytes lie in rows from `top` and columns left to
 * left + columns - 1, `rows` x `columns` pixels an image. */
TUTTI_KERNEL(cutout_blank_cuda)
(uint8_t *x, int64_t height, int64_t width, int64_t pixel, int64_t top, int64_t rows,
 int64_t left, int64_t columns, int64_t n)
{
    const int64_t line = columns * pixel;
    TUTTI_EACH(k, n)
    {
        const int64_t image = k / (rows * line), row = k / line % rows, at = k % line;
        x[((image * height + top + row) * width + left) * pixel + at] = 0;
    }
}
TUTTI_KERNEL_ENTRY(cutout_blank_cuda);
