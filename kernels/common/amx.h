/* amx.h - AMX's tile registers: sums of up to 32 x 32 numbers in f32 of products of pairs of bf16. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_AMX_H
#define KERNELS_COMMON_AMX_H

#include "common/simd.h"

#include <stdint.h>

/* A tile register has 16 rows of 64 bytes.  Registers 0 to 3 hold sums (0 and 1 the upper 16 rows, 0 and 2 the left 16
 * columns), 4 and 5 rows of a, 6 and 7 columns of b: 16 words of K, each a pair of bf16. */
enum { AMX_ROWS = 16, AMX_WORDS = 16, AMX_LINE = 64 };

#if defined(__AMX_BF16__)
#include <immintrin.h>

/* The operand of ldtilecfg, palette 1. */
typedef struct amx_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} amx_config;

/* Around what a thread does with tile registers: they are all 16 rows by 64 bytes. */
SIMD_INLINE void amx_begin(void)
{
    static const amx_config config __attribute__((aligned(64))) = {
        .palette = 1,
        .row_bytes = {AMX_LINE, AMX_LINE, AMX_LINE, AMX_LINE, AMX_LINE, AMX_LINE, AMX_LINE,
                      AMX_LINE},
        .rows = {AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS,
                 AMX_ROWS}};
    _tile_loadconfig(&config);
}

SIMD_INLINE void amx_end(void)
{
    _tile_release();
}

/* After writing what is loaded next: gcc's intrinsics do not say that they read memory. */
#define AMX_WRITTEN() __asm__ volatile("" ::: "memory")

/* `high`: 32 rows, else 16; `wide`: 32 columns, else 16.  Both are constants after inlining.  Rows are `row` bytes apart;
 * 0: all rows are the same. */
SIMD_INLINE void amx_load_sums(int high, int wide, const float *from, int64_t row)
{
    const float *low = from + AMX_ROWS * row / (int64_t)sizeof *from;
    _tile_loadd(0, from, row);
    if (wide)
        _tile_loadd(1, from + AMX_WORDS, row);
    if (high)
        _tile_loadd(2, low, row);
    if (high && wide)
        _tile_loadd(3, low + AMX_WORDS, row);
}

SIMD_INLINE void amx_store_sums(int high, int wide, float *to, int64_t row)
{
    float *low = to + AMX_ROWS * row / (int64_t)sizeof *to;
    _tile_stored(0, to, row);
    if (wide)
        _tile_stored(1, to + AMX_WORDS, row);
    if (high)
        _tile_stored(2, low, row);
    if (high && wide)
        _tile_stored(3, low + AMX_WORDS, row);
}

/* Sums += a b over `words` words of K, a multiple of AMX_WORDS.  Rows of a are a_row bytes apart, its next AMX_WORDS words
 * lie a_step floats on; rows of b, each a word of K, are b_row bytes apart. */
SIMD_INLINE void amx_multiply(int high, int wide, int64_t words, const float *a, int64_t a_row,
                              int64_t a_step, const float *b, int64_t b_row)
{
    const int64_t low = AMX_ROWS * a_row / (int64_t)sizeof *a;
    const int64_t b_step = AMX_WORDS * b_row / (int64_t)sizeof *b;
    for (int64_t w = 0; w < words; w += AMX_WORDS, a += a_step, b += b_step) {
        _tile_loadd(4, a, a_row);
        _tile_loadd(6, b, b_row);
        _tile_dpbf16ps(0, 4, 6);
        if (wide) {
            _tile_loadd(7, b + AMX_WORDS, b_row);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (high) {
            _tile_loadd(5, a + low, a_row);
            _tile_dpbf16ps(2, 5, 6);
        }
        if (high && wide)
            _tile_dpbf16ps(3, 5, 7);
    }
}
#else
SIMD_INLINE void amx_begin(void)
{
}

SIMD_INLINE void amx_end(void)
{
}
#endif

#endif
