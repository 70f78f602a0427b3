/* random_crop.cu - windows of a batch of images on a GPU: a thread a pixel, which draws for its image. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "crop.h"

/* budget: random_crop_cuda stack=48: the words of a draw, of which a running number takes the next */
/* x, y: n pixels of `pixel` bytes. */
TUTTI_KERNEL(random_crop_cuda)
(const uint8_t *x, uint8_t *y, const int64_t *index, uint64_t seed, uint64_t epoch,
 uint32_t purpose, int32_t reflect, int64_t padding, int64_t height, int64_t width,
 int64_t pixel, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        const int64_t sample = k / (height * width), at = k % (height * width);
        const crop_shift s = crop_draw(seed, purpose, epoch, (uint64_t)index[sample], padding);
        const int64_t row = crop_source(reflect, at / width + s.dy, height);
        const int64_t column = crop_source(reflect, at % width + s.dx, width);
        const uint8_t *from = x + ((sample * height + row) * width + column) * pixel;
        for (int64_t j = 0; j < pixel; j++)
            y[k * pixel + j] = row < 0 || column < 0 ? (uint8_t)0 : from[j];
    }
}
TUTTI_KERNEL_ENTRY(random_crop_cuda);
