/* batch_norm_part.h - what the loops of batch norm share: rows in parts, registers of f32 or bf16. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_BATCH_NORM_BATCH_NORM_PART_H
#define KERNELS_BATCH_NORM_BATCH_NORM_PART_H

#include "batch_norm/batch_norm.h"
#include "common/simd.h"

/* A step is the channels of a register of f32, or of two of f64; up to four neighbouring steps of a row are done at
 * once, so that rows are read as they lie in memory.  Channels beyond a multiple of 16 go one by one at every level,
 * so that no CPU changes a sum. */
enum {
    HALF = SIMD_WIDTH / 2,
    STEPS = 4,
    LEAST = SIMD_LANES / SIMD_WIDTH,
    TILE = 64,
    GROUP = 16,
    WIDE = 1024
};

#define INLINE SIMD_INLINE

/* How many rows go through the channels together.  Sums take as many as they add up in registers.  What is written goes
 * row by row, in the order of memory, as long as what is known of all channels leaves room in the first cache; few rows
 * share what is loaded of them otherwise. */
INLINE int64_t rows_summed(int64_t c)
{
    return c <= TILE ? TILE : GROUP;
}

INLINE int64_t rows_written(int64_t c)
{
    return c <= TILE ? TILE : c <= WIDE ? 1 : 2;
}

/* How many elements ahead to ask for: further on in the order of memory, or the next channels of these rows. */
INLINE int64_t ahead(int64_t c)
{
    return c <= TILE ? SIMD_PREFETCH : TILE;
}

/* Calls a loop with the number of steps as a constant.  A multiple of 16 channels is no single step of narrow registers. */
#define WITH_STEPS(steps, call)                                                                \
    if (LEAST == 1 && (steps) == 1) {                                                          \
        call(1);                                                                               \
    } else if (LEAST <= 2 && (steps) == 2) {                                                   \
        call(2);                                                                               \
    } else {                                                                                   \
        call(STEPS);                                                                           \
    }

/* Steps to do at once from channel k on: 4, 2, 1, or 0 where nothing is left. */
INLINE int64_t steps_at(int64_t k, int64_t c)
{
    const int64_t left = (c / SIMD_LANES * SIMD_LANES - k) / SIMD_WIDTH;
    return left >= STEPS ? STEPS : left >= 2 ? 2 : left;
}

/* Element k of an array of bf16 (`low`) or f32. */
INLINE const void *at(const void *x, int low, int64_t k)
{
    return (const char *)x + k * (low ? 2 : 4);
}

INLINE float number(const void *x, int low, int64_t k)
{
    return low ? half_from_bf16(((const uint16_t *)x)[k]) : ((const float *)x)[k];
}

INLINE void set_number(void *x, int low, int64_t k, float v)
{
    if (low)
        ((uint16_t *)x)[k] = half_to_bf16(v);
    else
        ((float *)x)[k] = v;
}

/* A register from element k on. */
INLINE simd_f32 load(const void *x, int low, int64_t k)
{
    simd_f32 v;
    if (low)
        simd_load_bf16((const uint16_t *)x + k, &v);
    else
        v = *(const simd_f32 *)((const float *)x + k);
    return v;
}

INLINE void store(void *x, int low, int64_t k, const simd_f32 *v)
{
    if (low)
        simd_store_bf16(v, (uint16_t *)x + k);
    else
        *(simd_f32 *)((float *)x + k) = *v;
}

/* sum += a + b, that sum in f32 */
INLINE void add_to(double *sum, const simd_f32 *a, const simd_f32 *b)
{
    const simd_f32 v = *a + *b;
    simd_f64 half[2];
    simd_to_f64(&v, half);
    *(simd_f64 *)sum += half[0];
    *(simd_f64 *)(sum + HALF) += half[1];
}

/* Rows of some channels of wider rows: `c` apart, the pointers at the first of those channels. */
typedef struct part {
    const void *x;
    const void *other; /* dy or the residual */
    void *y;
    int64_t rows, c;
    batch_norm_line l;
    batch_norm_relu_grad relu; /* of gradients of ReLU */
} part;

INLINE batch_norm_line line_at(const batch_norm_line *l, int64_t k)
{
    return (batch_norm_line){l->mean + k, l->scale + k, l->shift + k, l->relu};
}

#endif
