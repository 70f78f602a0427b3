/* permutation.h - a shuffled order of n samples of which any place can be had at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_PERMUTATION_H
#define HOST_TRAIN_DATA_PERMUTATION_H

#include "tutti/rng.h"

/* A Feistel network of six rounds on the smallest even number of bits that holds n, walked until the
 * result is below n (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).  Every
 * (seed, epoch) keys its own permutation of [0, n); fewer than four steps are walked on average. */
typedef struct permutation {
    uint64_t n;
    uint32_t keys[8];
    uint32_t half_bits;
    uint32_t reserved;
} permutation;

static inline permutation permutation_make(uint64_t n, uint64_t seed, uint64_t epoch)
{
    permutation p = {n, {0}, 1, 0};
    while (p.half_bits < 32 && (UINT64_C(1) << (2 * p.half_bits)) < n)
        p.half_bits++;
    for (uint32_t k = 0; k < 2; k++) {
        const tutti_rng4 r = tutti_rng(seed, TUTTI_RNG_SHUFFLE, epoch, k);
        for (uint32_t j = 0; j < 4; j++)
            p.keys[4 * k + j] = r.v[j];
    }
    return p;
}

static inline uint32_t permutation_mix(uint32_t x, uint32_t key)
{
    x = (x ^ key) * 0x9E3779B1u;
    x = (x ^ x >> 15) * 0x85EBCA77u;
    x = (x ^ x >> 13) * 0xC2B2AE3Du;
    return x ^ x >> 16;
}

/* The sample at place `i` < n. */
static inline uint64_t permutation_at(const permutation *p, uint64_t i)
{
    const uint64_t mask = (UINT64_C(1) << p->half_bits) - 1;
    do {
        uint64_t left = i >> p->half_bits, right = i & mask;
        for (int round = 0; round < 6; round++) {
            const uint64_t next =
                left ^ (permutation_mix((uint32_t)right, p->keys[round]) & mask);
            left = right;
            right = next;
        }
        i = left << p->half_bits | right;
    } while (i >= p->n);
    return i;
}

#endif
