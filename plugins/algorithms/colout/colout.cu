/* colout.cu - kept rows and columns of images on a GPU: the same in a batch, or drawn for each image. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../pixel.h"
#include "../shuffle.h"

/* A thread a pixel.  x: images of height x width pixels of `pixel` bytes; y: n pixels, high x wide an image. */
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

enum { LANES = 256 };

/* sorted: the first `count` of `order`, ascending; each is where as many are less. */
static __device__ void ascending(const uint32_t *order, uint32_t *sorted, int64_t count)
{
    for (int64_t k = threadIdx.x; k < count; k += LANES) {
        int64_t less = 0;
        for (int64_t j = 0; j < count; j++)
            less += order[j] < order[k];
        sorted[less] = order[k];
    }
}

/* budget: colout_samples_cuda stack=48: the words of a draw, of which a running number takes the next */
/* A block an image.  x: images of height x width pixels of `pixel` bytes; y: of high x wide; scratch: 2 (height + width) numbers an image. */
TUTTI_KERNEL(colout_samples_cuda)
(const uint8_t *x, uint8_t *y, uint32_t *scratch, const int64_t *index, uint64_t seed,
 uint64_t epoch, uint32_t purpose, int64_t height, int64_t width, int64_t high, int64_t wide,
 int64_t pixel, int64_t images, int64_t threads)
{
    for (int64_t image = blockIdx.x; image < images; image += gridDim.x) {
        uint32_t *order = scratch + 2 * image * (height + width),
                 *rows = order + height + width;
        if (threadIdx.x == 0) {
            tutti_stream r = tutti_stream_at(seed, purpose, epoch, (uint64_t)index[image]);
            algorithm_shuffle(&r, order, (uint32_t)height);
            algorithm_shuffle(&r, order + height, (uint32_t)width);
        }
        __syncthreads();
        ascending(order, rows, high);
        ascending(order + height, rows + height, wide);
        __syncthreads();
        for (int64_t k = threadIdx.x; k < high * wide; k += LANES) {
            const int64_t from =
                (image * height + rows[k / wide]) * width + rows[height + k % wide];
            pixel_copy(y + (image * high * wide + k) * pixel, x + from * pixel, pixel);
        }
    }
}
TUTTI_KERNEL_ENTRY(colout_samples_cuda);
