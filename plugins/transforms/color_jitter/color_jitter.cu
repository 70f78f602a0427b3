/* color_jitter.cu - the colours of a batch of images on a GPU: a block an image, a thread some pixels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/colour_pixel.h"
#include "jitter.h"

enum { LANES = 256 };

static __device__ int grey(const uint8_t *pixel, int64_t channels)
{
    return channels == 3 ? colour_grey(pixel) : pixel[0];
}

/* The mean grey of an image; every thread has put its last pixels there itself. */
static __device__ int mean_grey(int64_t *sums, const uint8_t *x, int64_t size, int64_t channels)
{
    int64_t sum = 0;
    for (int64_t k = threadIdx.x; k < size; k += LANES)
        sum += grey(x + k * channels, channels);
    __syncthreads(); /* nobody reads the sums of before any more */
    sums[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k < LANES; k++)
        sum += sums[k];
    return colour_mean(sum, size);
}

static __device__ void change(int32_t which, uint8_t *pixel, int64_t channels, int from,
                              double by)
{
    const int own = grey(pixel, channels);
    uint8_t h, s, v;
    if (which == HUE && channels == 3) {
        colour_to_hsv(pixel, &h, &s, &v);
        colour_from_hsv((uint8_t)(h + jitter_turn(by)), s, v, pixel);
    } else if (which == SATURATION && channels == 3) {
        for (int c = 0; c < 3; c++)
            pixel[c] = colour_blend(own, pixel[c], (float)by);
    } else if (which == BRIGHTNESS || which == CONTRAST) {
        for (int64_t c = 0; c < channels; c++)
            pixel[c] = colour_blend(from, pixel[c], (float)by);
    }
}

/* budget: color_jitter_cuda stack=176: an image's draws, their order, and colours that a number names */
/* x, y: images of `size` pixels. */
TUTTI_KERNEL(color_jitter_cuda)
(const uint8_t *x, uint8_t *y, const int64_t *index, uint64_t seed, uint64_t epoch,
 uint32_t purpose, uint32_t p_purpose, double p, double brightness, double contrast,
 double saturation, double hue, int64_t size, int64_t channels, int64_t images, int64_t threads)
{
    TUTTI_BLOCK(int64_t, sums, LANES);
    const jitter_range range = {{brightness, contrast, saturation, hue}};
    for (int64_t image = blockIdx.x; image < images; image += gridDim.x) {
        const jitter_draw d =
            jitter_draws(tutti_stream_at(seed, purpose, epoch, (uint64_t)index[image]), range);
        uint8_t *to = y + image * size * channels;
        for (int64_t k = threadIdx.x; k < size; k += LANES)
            for (int64_t c = 0; c < channels; c++)
                to[k * channels + c] = x[(image * size + k) * channels + c];
        if (!jitter_applies(seed, p_purpose, epoch, (uint64_t)index[image], p))
            continue;
        for (int i = 0; i < CHANGES; i++) {
            const int32_t which = d.order[i];
            if (range.of[which] <= 0.0)
                continue;
            const int from = which == CONTRAST ? mean_grey(sums, to, size, channels) : 0;
            for (int64_t k = threadIdx.x; k < size; k += LANES)
                change(which, to + k * channels, channels, from, d.by[which]);
        }
    }
}
TUTTI_KERNEL_ENTRY(color_jitter_cuda);
