/* sdpa_cached.h - attention of new tokens to a cache of keys and values: what its files share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_CACHED_SDPA_CACHED_H
#define KERNELS_SDPA_CACHED_SDPA_CACHED_H

#include "tutti/op.h"
#include "tutti/rng.h" /* TUTTI_HD */

/* The most elements of a head that device code takes: eight for each lane of a warp. */
enum { SDPA_CACHED_WIDTH = 256 };

/* y = softmax(scale q k^T + bias) v for each head of each query, over the keys up to its position.
 *   q (B, T, H, D), k, v (B, N, G, D) where G divides H: H / G neighbours of q's heads read one of k's,
 *   position (T) of I32 or I64: query t sees keys [0, position[t]], E_RANGE where that is not within [0, N),
 *   bias (optional) broadcasts to (B, H, T, N); y (B, T, H, D) */
typedef struct sdpa_cached_shape {
    int64_t batch, t, heads, d, n, groups;
    int64_t bias[4]; /* steps along (B, H, T, N); 0 where it broadcasts */
    float scale;
    int32_t reserved;
} sdpa_cached_shape;

/* Query r of B T H: where its keys begin, in elements. */
TUTTI_HD int64_t sdpa_cached_keys(const sdpa_cached_shape *s, int64_t r)
{
    const int64_t h = r % s->heads, b = r / s->heads / s->t;
    return (b * s->n * s->groups + h / (s->heads / s->groups)) * s->d;
}

/* And its biases. */
TUTTI_HD int64_t sdpa_cached_bias(const sdpa_cached_shape *s, int64_t r)
{
    const int64_t h = r % s->heads, t = r / s->heads % s->t, b = r / s->heads / s->t;
    return b * s->bias[0] + h * s->bias[1] + t * s->bias[2];
}

#endif
