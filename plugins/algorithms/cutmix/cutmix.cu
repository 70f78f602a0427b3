/* cutmix.cu - boxes of other images pasted on a GPU: a thread a pixel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../batch_mix.cu"

/* x, y: n pixels of `pixel` bytes; rows top to bottom - 1 and columns left to right - 1 are the box. */
TUTTI_KERNEL(cutmix_paste_cuda)
(const uint8_t *x, uint8_t *y, const uint32_t *perm, int64_t height, int64_t width, int64_t top,
 int64_t bottom, int64_t left, int64_t right, int64_t pixel, int64_t n)
{
    const int64_t size = height * width;
    TUTTI_EACH(k, n)
    {
        const int64_t at = k % size, row = at / width, column = at % width;
        const bool inside = row >= top && row < bottom && column >= left && column < right;
        const int64_t from = inside ? (int64_t)perm[k / size] * size + at : k;
        pixel_copy(y + k * pixel, x + from * pixel, pixel);
    }
}
TUTTI_KERNEL_ENTRY(cutmix_paste_cuda);
