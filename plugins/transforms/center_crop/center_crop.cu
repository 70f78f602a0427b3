/* center_crop.cu - the window in the middle of each image of a batch on a GPU: a thread a pixel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "middle.h"

/* x: images of height x width pixels of `pixel` bytes; y: n pixels, `rows` x `columns` an image. */
TUTTI_KERNEL(center_crop_cuda)
(const uint8_t *x, uint8_t *y, int64_t height, int64_t width, int64_t rows, int64_t columns,
 int64_t pixel, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        const int64_t image = k / (rows * columns), at = k % (rows * columns);
        const int64_t row = middle_source(at / columns, height, rows);
        const int64_t column = middle_source(at % columns, width, columns);
        const uint8_t *from = x + ((image * height + row) * width + column) * pixel;
        for (int64_t j = 0; j < pixel; j++)
            y[k * pixel + j] = row < 0 || column < 0 ? (uint8_t)0 : from[j];
    }
}
TUTTI_KERNEL_ENTRY(center_crop_cuda);
