/* amx.h - AMX's tile registers: sums of up to 32 x 32 numbers in f32 of products of pairs of bf16 or f16. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_AMX_H
#define KERNELS_COMMON_AMX_H

#include "common/simd.h"

#include <stdint.h>

/* A tile register has 16 rows of 64 bytes.  Registers 0 to 3 hold sums (0 and 1 the upper 16 rows, 0 and 2 the left 16
 * columns), 4 and 5 rows of a, 6 and 7 columns of b: 16 words of K, each a pair: of bf16, or of f16 in sources that define PAIRS_F16 before their
 * includes. */
enum { AMX_ROWS = 16, AMX_WORDS = 16, AMX_LINE = 64 };

/* AMX_UNITS: this translation unit has these registers and multiplies such pairs.  AMX_HERE: it does, or with AMX_MODEL
 * has a model of them in C, for tests of what is around them on a CPU without. */
#if defined(SIMD_AMX_BF16) && (defined(TUTTI_ISA_HAS_AMX_FP16) || !defined(PAIRS_F16))
#define AMX_UNITS 1
#endif
#if defined(AMX_UNITS) || defined(AMX_MODEL)
#define AMX_HERE 1
#endif

#if defined(AMX_UNITS)
#include <immintrin.h>

#define AMX_LOAD(to, from, row) _tile_loadd(to, from, row)
#define AMX_STORE(from, to, row) _tile_stored(from, to, row)
#if defined(PAIRS_F16)
/* tdpfp16ps, which assemblers before binutils 2.40 and clang 16 do not know: VEX.128.F2.0F38.W0 5C /r with `sums` in
 * ModRM.reg, a in ModRM.rm, b in VEX.vvvv.  It touches no memory, and volatile statements stay in order, as the
 * compilers' own for tiles are. */
#define AMX_DOT(sums, a, b)                                                                    \
    __asm__ volatile(".byte 0xC4, 0xE2, %c0, 0x5C, %c1"                                        \
                     :                                                                         \
                     : "i"((~(b)&15) << 3 | 3), "i"(0xC0 | (sums) << 3 | (a)))
#else
#define AMX_DOT(sums, a, b) _tile_dpbf16ps(sums, a, b)
#endif
#define AMX_ZERO(to) _tile_zero(to)

/* The operand of ldtilecfg, palette 1. */
typedef struct amx_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} amx_config;

/* Around what a thread does with tile registers: they are all 16 rows by 64 bytes. */
SIMD_INLINE void amx_begin(void)
{
    static const amx_config config
        __attribute__((aligned(64))) = {.palette = 1,
                                        .row_bytes = {AMX_LINE, AMX_LINE, AMX_LINE, AMX_LINE,
                                                      AMX_LINE, AMX_LINE, AMX_LINE, AMX_LINE},
                                        .rows = {AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS,
                                                 AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS}};
    _tile_loadconfig(&config);
}

SIMD_INLINE void amx_end(void)
{
    _tile_release();
}

#else
SIMD_INLINE void amx_begin(void)
{
}

SIMD_INLINE void amx_end(void)
{
}
#endif

#if defined(AMX_MODEL) && !defined(AMX_UNITS)
#include "common/half.h"

#include <string.h>

static _Thread_local float amx_model[8][AMX_ROWS][AMX_WORDS];

static inline void amx_model_load(int to, const float *from, int64_t row)
{
    for (int64_t i = 0; i < AMX_ROWS; i++)
        memcpy(amx_model[to][i], (const char *)from + i * row, AMX_LINE);
}

static inline void amx_model_store(int from, float *to, int64_t row)
{
    for (int64_t i = 0; i < AMX_ROWS; i++)
        memcpy((char *)to + i * row, amx_model[from][i], AMX_LINE);
}

static inline float amx_model_number(uint16_t bits)
{
#if defined(PAIRS_F16)
    return half_from_f16(bits);
#else
    return half_from_bf16(bits);
#endif
}

static inline void amx_model_dot(int sums, int a, int b)
{
    uint16_t x[AMX_ROWS][2 * AMX_WORDS], y[AMX_WORDS][2 * AMX_WORDS];
    memcpy(x, amx_model[a], sizeof x);
    memcpy(y, amx_model[b], sizeof y);
    for (int k = 0; k < 2 * AMX_WORDS; k++) {
        float row[AMX_WORDS];
        for (int j = 0; j < AMX_WORDS; j++)
            row[j] = amx_model_number(y[k / 2][2 * j + k % 2]);
        for (int i = 0; i < AMX_ROWS; i++)
            for (int j = 0; j < AMX_WORDS; j++)
                amx_model[sums][i][j] += amx_model_number(x[i][k]) * row[j];
    }
}

#define AMX_LOAD(to, from, row) amx_model_load(to, from, row)
#define AMX_STORE(from, to, row) amx_model_store(from, to, row)
#define AMX_DOT(sums, a, b) amx_model_dot(sums, a, b)
#define AMX_ZERO(to) memset(amx_model[to], 0, sizeof amx_model[to])
#endif

#if defined(AMX_HERE)
/* After writing what is loaded next: gcc's intrinsics do not say that they read memory. */
#define AMX_WRITTEN() __asm__ volatile("" ::: "memory")

/* `high`: 32 rows, else 16; `wide`: 32 columns, else 16.  Both are constants after inlining.  Rows are `row` bytes apart;
 * 0: all rows are the same. */
SIMD_INLINE void amx_load_sums(int high, int wide, const float *from, int64_t row)
{
    const float *low = from + AMX_ROWS * row / (int64_t)sizeof *from;
    AMX_LOAD(0, from, row);
    if (wide)
        AMX_LOAD(1, from + AMX_WORDS, row);
    if (high)
        AMX_LOAD(2, low, row);
    if (high && wide)
        AMX_LOAD(3, low + AMX_WORDS, row);
}

SIMD_INLINE void amx_zero_sums(int high, int wide)
{
    AMX_ZERO(0);
    if (wide)
        AMX_ZERO(1);
    if (high)
        AMX_ZERO(2);
    if (high && wide)
        AMX_ZERO(3);
}

SIMD_INLINE void amx_store_sums(int high, int wide, float *to, int64_t row)
{
    float *low = to + AMX_ROWS * row / (int64_t)sizeof *to;
    AMX_STORE(0, to, row);
    if (wide)
        AMX_STORE(1, to + AMX_WORDS, row);
    if (high)
        AMX_STORE(2, low, row);
    if (high && wide)
        AMX_STORE(3, low + AMX_WORDS, row);
}

/* Sums += a b over `words` words of K, a multiple of AMX_WORDS.  Rows of a are a_row bytes apart, its next AMX_WORDS words
 * lie a_step floats on; rows of b, each a word of K, are b_row bytes apart. */
SIMD_INLINE void amx_multiply(int high, int wide, int64_t words, const float *a, int64_t a_row,
                              int64_t a_step, const float *b, int64_t b_row)
{
    const int64_t low = AMX_ROWS * a_row / (int64_t)sizeof *a;
    const int64_t b_step = AMX_WORDS * b_row / (int64_t)sizeof *b;
    for (int64_t w = 0; w < words; w += AMX_WORDS, a += a_step, b += b_step) {
        AMX_LOAD(4, a, a_row);
        AMX_LOAD(6, b, b_row);
        AMX_DOT(0, 4, 6);
        if (wide) {
            AMX_LOAD(7, b + AMX_WORDS, b_row);
            AMX_DOT(1, 4, 7);
        }
        if (high) {
            AMX_LOAD(5, a + low, a_row);
            AMX_DOT(2, 5, 6);
        }
        if (high && wide)
            AMX_DOT(3, 5, 7);
    }
}
#endif

#endif
