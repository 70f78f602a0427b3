/* rng.h - counter-based random numbers: the same on every device, thread count and order. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_RNG_H
#define TUTTI_RNG_H

#include "base.h"

#include <math.h>

#ifdef __CUDACC__
#define TUTTI_HD static inline __host__ __device__
#else
#define TUTTI_HD static inline
#endif

/* Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3"
 * (SC 2011).  A draw is a pure function of (seed, purpose, step, index), so resuming a run is
 * setting numbers, and no order of threads changes it. */
typedef struct tutti_rng4 {
    uint32_t v[4];
} tutti_rng4;

/* Purposes in use; a plugin takes TUTTI_RNG_PLUGIN ^ a hash of its own name. */
enum {
    TUTTI_RNG_INIT = 1,      /* initial weights; step: hash of the weight's path */
    TUTTI_RNG_SHUFFLE = 2,   /* order of samples; step: epoch */
    TUTTI_RNG_TRANSFORM = 3, /* per-sample transforms; step: epoch, index: sample */
    TUTTI_RNG_OP = 4,      /* ops such as dropout; step: batch, mixed with the node's stream */
    TUTTI_RNG_DATASET = 5, /* synthetic data; index: sample */
    TUTTI_RNG_PLUGIN = 0x40000000
};

TUTTI_HD tutti_rng4 tutti_philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                                 uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        const uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        const uint32_t n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    tutti_rng4 r = {{c0, c1, c2, c3}};
    return r;
}

/* Four independent 32-bit draws for a key.  `step` keeps its low 40 bits, `purpose` is folded in
 * with the seed. */
TUTTI_HD tutti_rng4 tutti_rng(uint64_t seed, uint32_t purpose, uint64_t step, uint64_t index)
{
    return tutti_philox((uint32_t)index, (uint32_t)(index >> 32), (uint32_t)step,
                        (uint32_t)(step >> 32), (uint32_t)seed ^ (purpose * 0x9E3779B1u),
                        (uint32_t)(seed >> 32) ^ purpose);
}

/* Uniform in [0, 1) with 24 bits. */
TUTTI_HD float tutti_uniform_f32(uint32_t bits)
{
    return (float)(bits >> 8) * (1.0f / 16777216.0f);
}

/* Uniform in [0, 1) with 53 bits. */
TUTTI_HD double tutti_uniform_f64(uint32_t hi, uint32_t lo)
{
    return (double)(((uint64_t)hi << 32 | lo) >> 11) * (1.0 / 9007199254740992.0);
}

/* Two standard normal draws out of four words (Box-Muller, in f64). */
TUTTI_HD void tutti_normal_f64(tutti_rng4 r, double *ret_a, double *ret_b)
{
    const double u = 1.0 - tutti_uniform_f64(r.v[0], r.v[1]);
    const double v = 6.283185307179586476925 * tutti_uniform_f64(r.v[2], r.v[3]);
    const double radius = sqrt(-2.0 * log(u));
    *ret_a = radius * cos(v);
    *ret_b = radius * sin(v);
}

/* A run of draws for code that wants a sequence under one key: up to 2^26 words for each
 * `index` below 2^40.  Plain data; copy freely. */
typedef struct tutti_stream {
    uint64_t seed;
    uint64_t step;
    uint64_t index; /* the next block of four */
    tutti_rng4 block;
    uint32_t purpose;
    uint32_t used; /* words of `block` already handed out; 4 when empty */
} tutti_stream;

TUTTI_HD tutti_stream tutti_stream_at(uint64_t seed, uint32_t purpose, uint64_t step,
                                      uint64_t index)
{
    tutti_stream s = {seed, step, index << 24, {{0, 0, 0, 0}}, purpose, 4};
    return s;
}

TUTTI_HD uint32_t tutti_stream_u32(tutti_stream *s)
{
    if (s->used == 4) {
        s->block = tutti_rng(s->seed, s->purpose, s->step, s->index++);
        s->used = 0;
    }
    return s->block.v[s->used++];
}

TUTTI_HD double tutti_stream_uniform(tutti_stream *s)
{
    const uint32_t hi = tutti_stream_u32(s);
    return tutti_uniform_f64(hi, tutti_stream_u32(s));
}

/* Uniform integer in [0, n), n > 0, without bias (Lemire, "Fast random integer generation in an
 * interval", 2019). */
TUTTI_HD uint32_t tutti_stream_below(tutti_stream *s, uint32_t n)
{
    uint64_t m = (uint64_t)tutti_stream_u32(s) * n;
    if ((uint32_t)m < n) {
        const uint32_t floor_ = (uint32_t)(0u - n) % n;
        while ((uint32_t)m < floor_)
            m = (uint64_t)tutti_stream_u32(s) * n;
    }
    return (uint32_t)(m >> 32);
}

/* 64-bit FNV-1a (RFC 9923) of the text without its end, for turning names into rng keys. */
TUTTI_HD uint64_t tutti_hash(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

#endif
