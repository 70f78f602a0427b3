/* augmentation.cu - randaugment and augmix of a batch of pictures on a GPU: a block a picture, a thread some pixels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/colour_pixel.h"
#include "change.h"

enum { LANES = 256, MAX_CHANNELS = 3 };

/* The picture of a block: a thread writes its own pixels of it, k = threadIdx.x + i LANES, and reads others out of
 * `copy` alone. */
typedef struct canvas {
    uint8_t *pixels, *copy;
    int64_t h, w, c;
    int *histogram; /* 256 a channel, shared as `sums` and `table` are */
    int64_t *sums;
    uint8_t *table;
} canvas;

static __device__ void count(const canvas *v)
{
    for (int64_t i = threadIdx.x; i < 256 * v->c; i += LANES)
        v->histogram[i] = 0;
    __syncthreads();
    for (int64_t k = threadIdx.x; k < v->h * v->w; k += LANES)
        for (int64_t c = 0; c < v->c; c++)
            atomicAdd(&v->histogram[256 * c + v->pixels[k * v->c + c]], 1);
    __syncthreads();
}

static __device__ uint8_t stretched(const int *histogram, int v)
{
    int low = 0, high = 255;
    while (low < 255 && histogram[low] == 0)
        low++;
    while (high > 0 && histogram[high] == 0)
        high--;
    return pixel_stretch(v, low, high);
}

static __device__ uint8_t flattened(const int *histogram, int v, int64_t n)
{
    int last = 255;
    int64_t below = 0;
    while (last > 0 && histogram[last] == 0)
        last--;
    const int64_t step = pixel_step(n, histogram[last]);
    for (int k = 0; k < v; k++)
        below += histogram[k];
    return step ? pixel_flatten(below, step) : (uint8_t)v;
}

static __device__ void by_histogram(const canvas *v, int32_t which)
{
    const int value = (int)threadIdx.x; /* 256 threads, 256 values */
    count(v);
    for (int64_t c = 0; c < v->c; c++) {
        const int *own = v->histogram + 256 * c;
        v->table[256 * c + value] =
            which == AUTOCONTRAST ? stretched(own, value) : flattened(own, value, v->h * v->w);
    }
    __syncthreads();
    for (int64_t k = threadIdx.x; k < v->h * v->w; k += LANES)
        for (int64_t c = 0; c < v->c; c++)
            v->pixels[k * v->c + c] = v->table[256 * c + v->pixels[k * v->c + c]];
}

static __device__ void by_neighbours(const canvas *v, const change *by)
{
    const pixel_source from = {v->copy, v->h, v->w, v->c};
    for (int64_t k = threadIdx.x; k < v->h * v->w; k += LANES)
        for (int64_t c = 0; c < v->c; c++)
            v->copy[k * v->c + c] = v->pixels[k * v->c + c];
    __syncthreads();
    for (int64_t k = threadIdx.x; k < v->h * v->w; k += LANES) {
        if (change_moves(by->which))
            pixel_affine(from, by->m, k, v->pixels + k * v->c);
        else
            for (int64_t c = 0; c < v->c; c++)
                v->pixels[k * v->c + c] = pixel_sharp(from, k * v->c + c, by->by);
    }
    __syncthreads(); /* nobody reads the copy any more */
}

static __device__ int grey(const uint8_t *pixel, int64_t channels)
{
    return channels == 3 ? colour_grey(pixel) : pixel[0];
}

static __device__ int mean_grey(const canvas *v)
{
    int64_t sum = 0;
    for (int64_t k = threadIdx.x; k < v->h * v->w; k += LANES)
        sum += grey(v->pixels + k * v->c, v->c);
    __syncthreads(); /* nobody reads the sums of before any more */
    v->sums[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k < LANES; k++)
        sum += v->sums[k];
    return colour_mean(sum, v->h * v->w);
}

static __device__ uint8_t alone(uint8_t value, const change *by, int from)
{
    if (by->which == POSTERIZE)
        return pixel_posterized(value, (int)by->by);
    return by->which == SOLARIZE ? pixel_solarized(value, (int)by->by)
                                 : colour_blend(from, value, (float)by->by);
}

static __device__ void by_pixel(const canvas *v, const change *by)
{
    const int mean = by->which == CONTRAST ? mean_grey(v) : 0;
    if (by->which == COLOR && v->c != 3)
        return;
    for (int64_t k = threadIdx.x; k < v->h * v->w; k += LANES) {
        uint8_t *pixel = v->pixels + k * v->c;
        const int from = by->which == COLOR ? grey(pixel, v->c) : mean;
        for (int64_t c = 0; c < v->c; c++)
            pixel[c] = alone(pixel[c], by, from);
    }
}

static __device__ void changes(const canvas *v, const augmentation_draws *d, int64_t depth,
                               tutti_stream *r)
{
    for (int64_t k = 0; k < depth; k++) {
        const change by = change_draw(r, d->set, d->severity, v->h, v->w);
        if (by.which == AUTOCONTRAST || by.which == EQUALIZE)
            by_histogram(v, by.which);
        else if (change_moves(by.which) || by.which == SHARPNESS)
            by_neighbours(v, &by);
        else
            by_pixel(v, &by);
    }
}

/* The picture becomes x again. */
static __device__ void begin(const canvas *v, const uint8_t *x)
{
    for (int64_t k = threadIdx.x; k < v->h * v->w; k += LANES)
        for (int64_t c = 0; c < v->c; c++)
            v->pixels[k * v->c + c] = x[k * v->c + c];
}

/* The draws of a picture's shares, by one thread for all of the block. */
typedef struct shares {
    double share[MAX_SHARES];
    tutti_stream behind;
} shares;

/* sum: of this picture. */
static __device__ void mix(const canvas *v, const augmentation_draws *d, tutti_stream *r,
                           const uint8_t *x, shares *s, float *sum)
{
    __syncthreads(); /* nobody reads the shares of before any more */
    if (threadIdx.x == 0) {
        change_shares(d, r, s->share);
        s->behind = *r;
    }
    __syncthreads();
    *r = s->behind;
    for (int64_t chain = 0; chain < d->width; chain++) {
        begin(v, x);
        changes(v, d, change_depth(d, r), r);
        const float share = (float)s->share[chain];
        for (int64_t k = threadIdx.x; k < v->h * v->w; k += LANES)
            for (int64_t i = k * v->c; i < (k + 1) * v->c; i++)
                sum[i] = (chain ? sum[i] : 0.0f) + share * v->pixels[i];
    }
    const float m = (float)s->share[d->width];
    for (int64_t k = threadIdx.x; k < v->h * v->w; k += LANES)
        for (int64_t i = k * v->c; i < (k + 1) * v->c; i++)
            v->pixels[i] = change_mixed(x[i], sum[i], m);
}

/* budget: augmentation_cuda registers=160 stack=176: a picture, its change with a matrix, and draws that a number names */
/* x, y: pictures (h, w, c); scratch: a float and a byte for each value of all pictures. */
TUTTI_KERNEL(augmentation_cuda)
(const uint8_t *x, uint8_t *y, float *scratch, const int64_t *index, uint64_t seed,
 uint64_t epoch, uint32_t purpose, double severity, double alpha, int64_t depth, int64_t width,
 int32_t set, int32_t mixes, int64_t h, int64_t w, int64_t c, int64_t images, int64_t threads)
{
    TUTTI_BLOCK(int64_t, sums, LANES);
    TUTTI_BLOCK(int, histogram, 256 * MAX_CHANNELS);
    TUTTI_BLOCK(uint8_t, table, 256 * MAX_CHANNELS);
    TUTTI_BLOCK(shares, drawn, 1);
    const augmentation_draws d = {severity, alpha, depth, width, set, 0};
    const int64_t n = h * w * c;
    uint8_t *copies = (uint8_t *)(scratch + images * n);
    for (int64_t image = blockIdx.x; image < images; image += gridDim.x) {
        const canvas v = {y + image * n, copies + image * n, h, w, c, histogram, sums, table};
        tutti_stream r = tutti_stream_at(seed, purpose, epoch, (uint64_t)index[image]);
        if (mixes) {
            mix(&v, &d, &r, x + image * n, drawn, scratch + image * n);
        } else {
            begin(&v, x + image * n);
            changes(&v, &d, depth, &r);
        }
    }
}
TUTTI_KERNEL_ENTRY(augmentation_cuda);
