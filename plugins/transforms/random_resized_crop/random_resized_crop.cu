/* random_resized_crop.cu - scaled windows of a batch of images on a GPU: a thread a pixel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/resample_pixel.h"
#include "window.h"

/* budget: random_resized_crop_cuda stack=48: the words of a draw, of which a running number takes the next */
/* x: images of height x width pixels, u8 or (real) f32; y: n pixels, `rows` x `columns` an image. */
TUTTI_KERNEL(random_resized_crop_cuda)
(const uint8_t *x, uint8_t *y, const int64_t *index, uint64_t seed, uint64_t epoch,
 uint32_t purpose, double scale_low, double scale_high, double ratio_low, double ratio_high,
 double log_low, double log_high, int64_t height, int64_t width, int64_t rows, int64_t columns,
 int64_t channels, int32_t real, int32_t cubic, int64_t n)
{
    const window_range range = {
        {scale_low, scale_high}, {ratio_low, ratio_high}, {log_low, log_high}};
    const int64_t size = channels * (real ? 4 : 1);
    TUTTI_EACH(k, n)
    {
        const int64_t image = k / (rows * columns), at = k % (rows * columns);
        const window w =
            window_draw(tutti_stream_at(seed, purpose, epoch, (uint64_t)index[image]), range,
                        height, width);
        const resample_run down = resample_run_of(at / columns, w.height, rows, cubic);
        const resample_run across = resample_run_of(at % columns, w.width, columns, cubic);
        resample_pixel(x + ((image * height + w.top) * width + w.left) * size, width * channels,
                       channels, real, down, across, y + k * size);
    }
}
TUTTI_KERNEL_ENTRY(random_resized_crop_cuda);
