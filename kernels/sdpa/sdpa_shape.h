/* sdpa_shape.h - where attention's operands lie and what is seen; for C and for device code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_SHAPE_H
#define KERNELS_SDPA_SDPA_SHAPE_H

#include "tutti/rng.h" /* TUTTI_HD */

/* Where element (b, h, t, 0) of a tensor lies; the D elements of a row are neighbours. */
typedef struct sdpa_stride {
    int64_t b, h, t;
} sdpa_stride;

/* A call, whatever its layout. */
typedef struct sdpa_shape {
    int64_t batch, heads, tq, tk, d;
    int64_t causal;
    double scale;
    sdpa_stride q, k, v, y; /* gradients lie as what they are the gradients of */
    sdpa_stride bias;       /* 0 along broadcast dimensions */
    int64_t bias_key;       /* step from key to key: 1 or 0 */
} sdpa_shape;

/* How many keys query i sees. */
TUTTI_HD int64_t sdpa_seen(const sdpa_shape *s, int64_t i)
{
    return s->causal ? i + 1 + s->tk - s->tq : s->tk;
}

TUTTI_HD int64_t sdpa_at(const sdpa_stride *s, int64_t b, int64_t h, int64_t t)
{
    return b * s->b + h * s->h + t * s->t;
}

#endif
