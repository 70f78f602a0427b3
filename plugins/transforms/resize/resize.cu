/* resize.cu - scaled images of a batch on a GPU: a thread a pixel, which works out its weights itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/resample_pixel.h"

/* x: images of height x width pixels, u8 or (real) f32; y: n pixels, `rows` x `columns` an image. */
TUTTI_KERNEL(resize_cuda)
(const uint8_t *x, uint8_t *y, int64_t height, int64_t width, int64_t rows, int64_t columns,
 int64_t channels, int32_t real, int32_t cubic, int64_t n)
{
    const int64_t size = channels * (real ? 4 : 1);
    TUTTI_EACH(k, n)
    {
        const int64_t image = k / (rows * columns), at = k % (rows * columns);
        const resample_run down = resample_run_of(at / columns, height, rows, cubic);
        const resample_run across = resample_run_of(at % columns, width, columns, cubic);
        resample_pixel(x + image * height * width * size, width * channels, channels, real,
                       down, across, y + k * size);
    }
}
TUTTI_KERNEL_ENTRY(resize_cuda);
