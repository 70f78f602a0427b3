/* random_flip.cu - mirrored images of a batch on a GPU: a thread a pixel, which draws for its image. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "flip.h"

/* x, y: n pixels of `pixel` bytes, `size` an image. */
TUTTI_KERNEL(random_flip_cuda)
(const uint8_t *x, uint8_t *y, const int64_t *index, uint64_t seed, uint64_t epoch,
 uint32_t purpose, double p, int32_t alternate, int64_t size, int64_t width, int64_t pixel,
 int64_t n)
{
    TUTTI_EACH(k, n)
    {
        const uint64_t sample = (uint64_t)index[k / size];
        const int64_t column = k % width;
        const int flips = flip_draw(seed, purpose, epoch, sample, p, alternate);
        const int64_t from = flips ? k - column + width - 1 - column : k;
        for (int64_t j = 0; j < pixel; j++)
            y[k * pixel + j] = x[from * pixel + j];
    }
}
TUTTI_KERNEL_ENTRY(random_flip_cuda);
