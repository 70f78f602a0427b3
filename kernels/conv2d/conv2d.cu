/* conv2d.cu - convolution and its gradients of any shape; what runs where cuDNN does not. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/convert.cuh"
#include "common/cuda/gemm.cuh"
#include "conv2d/conv2d_geometry.h"

/* Each of the three is, for each group p, a product of matrices whose elements are found in the
 * images; indices stay below 2^31, so that divisions are short. */

namespace
{

/* Place (i, j) of image b and channel c; outside of the image is 0. */
__device__ static inline float pixel(const cuda_tensor &t, int64_t b, int64_t i, int64_t j,
                                     int64_t h, int64_t w, int64_t channels, int64_t c)
{
    const bool inside = i >= 0 && i < h && j >= 0 && j < w;
    return inside ? cuda_get(t, ((b * h + i) * w + j) * channels + c) : 0.0f;
}

struct place {
    uint32_t a, b, c;
};

/* k = (a nb + b) nc + c */
__device__ static inline place split(int64_t k, int64_t nb, int64_t nc)
{
    const uint32_t n = (uint32_t)k, c = (uint32_t)nc, b = (uint32_t)nb;
    const uint32_t ab = n / c;
    return {ab / b, ab % b, n - ab * c};
}

/* x under the windows: (pixel of y, place in the window and channel). */
struct windows {
    cuda_tensor x;
    const conv2d_geometry *g;
    bool swapped; /* (place and channel, pixel of y) */
    bool along_k;

    __device__ float at(int64_t p, int64_t r, int64_t k) const
    {
        const int64_t cg = g->c / g->g;
        const place y = split(swapped ? k : r, g->oh, g->ow);
        const place u = split(swapped ? r : k, g->kw, cg);
        return pixel(x, y.a, (int64_t)y.b * g->sh + u.a * g->dh - g->ph,
                     (int64_t)y.c * g->sw + u.b * g->dw - g->pw, g->h, g->w, g->c,
                     p * cg + u.c);
    }
};

/* w: (output channel, place and channel), as it lies. */
struct filters {
    cuda_tensor w;
    const conv2d_geometry *g;
    bool along_k;

    __device__ float at(int64_t p, int64_t r, int64_t k) const
    {
        const int64_t size = g->kh * g->kw * (g->c / g->g);
        return cuda_get(w, (p * (g->o / g->g) + r) * size + k);
    }
};

/* dy where a window's place lies over a pixel of x: (pixel of x, place and output channel). */
struct spread {
    cuda_tensor dy;
    const conv2d_geometry *g;
    bool along_k;

    __device__ float at(int64_t p, int64_t r, int64_t k) const
    {
        const int64_t og = g->o / g->g;
        const place x = split(r, g->h, g->w), u = split(k, g->kw, og);
        const int64_t up = (int64_t)x.b + g->ph - u.a * g->dh;
        const int64_t left = (int64_t)x.c + g->pw - u.b * g->dw;
        if (up < 0 || left < 0 || up % g->sh || left % g->sw)
            return 0.0f;
        return pixel(dy, x.a, up / g->sh, left / g->sw, g->oh, g->ow, g->o, p * og + u.c);
    }
};

/* w transposed: (channel, place and output channel). */
struct filters_transposed {
    cuda_tensor w;
    const conv2d_geometry *g;
    bool along_k;

    __device__ float at(int64_t p, int64_t r, int64_t k) const
    {
        const int64_t cg = g->c / g->g, og = g->o / g->g, places = g->kh * g->kw;
        const place u = split(k, 1, og);
        return cuda_get(w, ((p * og + u.c) * places + u.a) * cg + r);
    }
};

/* dy: (output channel, pixel of y). */
struct channels {
    cuda_tensor dy;
    const conv2d_geometry *g;
    bool along_k;

    __device__ float at(int64_t p, int64_t r, int64_t k) const
    {
        return cuda_get(dy, k * g->o + p * (g->o / g->g) + r);
    }
};

/* Results (pixel, channel of the group). */
struct image {
    cuda_tensor y, bias;
    int64_t channels, per_group;

    __device__ void put(int64_t p, int64_t, int64_t i, int64_t j, float sum) const
    {
        const int64_t c = p * per_group + j;
        cuda_set(y, i * channels + c, bias.data ? sum + cuda_get(bias, c) : sum);
    }
};

/* Parts of sums (split, group, output channel, place and channel). */
struct parts {
    float *sums;
    int64_t groups, m, n;

    __device__ void put(int64_t p, int64_t split, int64_t i, int64_t j, float sum) const
    {
        sums[((split * groups + p) * m + i) * n + j] = sum;
    }
};

} // namespace

/* bias.data may be NULL. */
CUDA_KERNEL(conv2d_cuda)
(cuda_tensor x, cuda_tensor w, cuda_tensor bias, cuda_tensor y, conv2d_geometry g)
{
    CUDA_SHARED(float, as, PRODUCT_TILE);
    CUDA_SHARED(float, bs, PRODUCT_TILE);
    const int64_t og = g.o / g.g, terms = g.kh * g.kw * (g.c / g.g);
    const gemm_size size = {g.g, g.b * g.oh * g.ow, og, terms, 1, terms};
    gemm_tiles(size, windows{x, &g, false, true}, filters{w, &g, true}, image{y, bias, g.o, og},
               as, bs);
}
CUDA_ENTRY(conv2d_cuda);

CUDA_KERNEL(conv2d_grad_input_cuda)
(cuda_tensor dy, cuda_tensor w, cuda_tensor dx, conv2d_geometry g)
{
    CUDA_SHARED(float, as, PRODUCT_TILE);
    CUDA_SHARED(float, bs, PRODUCT_TILE);
    const int64_t cg = g.c / g.g, terms = g.kh * g.kw * (g.o / g.g);
    const gemm_size size = {g.g, g.b * g.h * g.w, cg, terms, 1, terms};
    const cuda_tensor none = {};
    gemm_tiles(size, spread{dy, &g, true}, filters_transposed{w, &g, false},
               image{dx, none, g.c, cg}, as, bs);
}
CUDA_ENTRY(conv2d_grad_input_cuda);

/* sums gets `splits` parts of dw, each over `part` pixels of y. */
CUDA_KERNEL(conv2d_grad_weight_cuda)
(cuda_tensor x, cuda_tensor dy, float *sums, int64_t splits, int64_t part, conv2d_geometry g)
{
    CUDA_SHARED(float, as, PRODUCT_TILE);
    CUDA_SHARED(float, bs, PRODUCT_TILE);
    const int64_t og = g.o / g.g, columns = g.kh * g.kw * (g.c / g.g);
    const gemm_size size = {g.g, og, columns, g.b * g.oh * g.ow, splits, part};
    gemm_tiles(size, channels{dy, &g, false}, windows{x, &g, true, false},
               parts{sums, g.g, og, columns}, as, bs);
}
CUDA_ENTRY(conv2d_grad_weight_cuda);

/* dw is the sum of `splits` parts of n numbers each, in their order, and of `added`, whose data may be
 * NULL or that of dw. */
CUDA_KERNEL(conv2d_sum_parts_cuda)
(const float *sums, cuda_tensor added, cuda_tensor dw, int64_t splits, int64_t n)
{
    CUDA_EACH(k, n)
    {
        float sum = 0.0f;
        for (int64_t s = 0; s < splits; s++)
            sum += sums[s * n + k];
        cuda_set(dw, k, added.data ? sum + cuda_get(added, k) : sum);
    }
}
CUDA_ENTRY(conv2d_sum_parts_cuda);

/* What the library gave, in its dtype, and what was there, which may be where the sum goes. */
CUDA_KERNEL(conv2d_add_cuda)(cuda_tensor x, cuda_tensor added, cuda_tensor y, int64_t n)
{
    CUDA_EACH(k, n)
    {
        cuda_set(y, k, cuda_get(x, k) + cuda_get(added, k));
    }
}
CUDA_ENTRY(conv2d_add_cuda);

CUDA_CONVERT(conv2d);
