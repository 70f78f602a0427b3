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
    double keep;      /* 1 / (1 - drop): what probabilities that are kept are multiplied by */
    float drop;       /* one is left out where a draw is below this; 0: none is */
    uint32_t purpose; /* of the draws */
    uint64_t seed, number; /* of the draws, on a CPU; a GPU reads its step */
} sdpa_shape;

/* How many keys query i sees. */
TUTTI_HD int64_t sdpa_seen(const sdpa_shape *s, int64_t i)
{
    return s->causal ? i + 1 + s->tk - s->tq : s->tk;
}

/* Which of the probabilities of query i and keys [j, j + n), n <= 32, are kept, as bits; those behind mean
 * nothing.  The draws are those of dropout on (B, H, Tq, Tk), for four neighbours each. */
TUTTI_HD uint32_t sdpa_kept(const sdpa_shape *s, uint64_t seed, uint64_t number, int64_t head,
                            int64_t i, int64_t j, int n)
{
    const uint64_t first = (uint64_t)((head * s->tq + i) * s->tk + j);
    const int begin = (int)(first % 4);
    uint32_t bits = 0;
    for (int at = -begin; at < n; at += 4) {
        const tutti_rng4 r =
            tutti_rng(seed, s->purpose, number, first / 4 + (uint64_t)((at + begin) / 4));
        uint32_t four = 0;
        for (int k = 0; k < 4; k++)
            four |= (uint32_t)(tutti_uniform_f32(r.v[k]) >= s->drop) << k;
        bits |= at < 0 ? four >> -at : four << at;
    }
    return bits;
}

TUTTI_HD int64_t sdpa_at(const sdpa_stride *s, int64_t b, int64_t h, int64_t t)
{
    return b * s->b + h * s->h + t * s->t;
}

#endif
