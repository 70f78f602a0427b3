/* machine_peak.c - loops of multiply-adds whose operands stay in registers, timed here and now. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/machine_peak.h"

#include "base/monotonic.h"
#include "tutti/isa.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { ROUNDS = 12, SUMS = 12 };

/* A loop of `turns`; what it has summed up, so that it is not left out. */
typedef float peak_loop(int64_t turns);

/* An instruction. */
typedef struct peak_kind {
    const char *name;
    peak_loop *loop;
    double flops;  /* a turn */
    int64_t turns; /* that take some milliseconds */
} peak_kind;

typedef float f32x4 __attribute__((vector_size(16)));

static float loop_base(int64_t turns)
{
    f32x4 sum[SUMS] = {{0}};
    f32x4 a = {1e-3f, 1e-3f, 1e-3f, 1e-3f}, b = a;
    for (int64_t k = 0; k < turns; k++) {
        __asm__ volatile("" : "+x"(a), "+x"(b)); /* else the product is made once */
        for (int i = 0; i < SUMS; i++)
            sum[i] += a * b;
    }
    for (int i = 1; i < SUMS; i++)
        sum[0] += sum[i];
    return sum[0][0];
}
static const peak_kind base = {"multiply and add of 128 bits", loop_base, 2.0 * 4 * SUMS,
                               1 << 19};

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static float loop_v3(int64_t turns)
{
    const __m256 a = _mm256_set1_ps(1e-3f);
    __m256 sum[SUMS];
    for (int i = 0; i < SUMS; i++)
        sum[i] = _mm256_setzero_ps();
    for (int64_t k = 0; k < turns; k++)
        for (int i = 0; i < SUMS; i++)
            sum[i] = _mm256_fmadd_ps(a, a, sum[i]);
    for (int i = 1; i < SUMS; i++)
        sum[0] = _mm256_add_ps(sum[0], sum[i]);
    return _mm256_cvtss_f32(sum[0]);
}
static const peak_kind v3 = {"FMA of 256 bits", loop_v3, 2.0 * 8 * SUMS, 1 << 20};

__attribute__((target("avx512f"))) static float loop_v4(int64_t turns)
{
    const __m512 a = _mm512_set1_ps(1e-3f);
    __m512 sum[SUMS];
    for (int i = 0; i < SUMS; i++)
        sum[i] = _mm512_setzero_ps();
    for (int64_t k = 0; k < turns; k++)
        for (int i = 0; i < SUMS; i++)
            sum[i] = _mm512_fmadd_ps(a, a, sum[i]);
    for (int i = 1; i < SUMS; i++)
        sum[0] = _mm512_add_ps(sum[0], sum[i]);
    return _mm512_cvtss_f32(sum[0]);
}
static const peak_kind v4 = {"FMA of 512 bits", loop_v4, 2.0 * 16 * SUMS, 1 << 20};

__attribute__((target("avx512f,avx512bf16"))) static float loop_dot(int64_t turns)
{
    const __m512bh a = (__m512bh)_mm512_set1_epi32(0x3c003c00); /* 2^-7, 2^-7 */
    __m512 sum[SUMS];
    for (int i = 0; i < SUMS; i++)
        sum[i] = _mm512_setzero_ps();
    for (int64_t k = 0; k < turns; k++)
        for (int i = 0; i < SUMS; i++)
            sum[i] = _mm512_dpbf16_ps(sum[i], a, a);
    for (int i = 1; i < SUMS; i++)
        sum[0] = _mm512_add_ps(sum[0], sum[i]);
    return _mm512_cvtss_f32(sum[0]);
}
static const peak_kind dot = {"vdpbf16ps of 512 bits", loop_dot, 4.0 * 16 * SUMS, 1 << 19};

/* The operand of ldtilecfg, palette 1: 16 rows of 64 bytes each. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

/* tdpfp16ps, as kernels/common/amx.h has it. */
#define DOT_F16(sums, a, b)                                                                    \
    __asm__ volatile(".byte 0xC4, 0xE2, %c0, 0x5C, %c1"                                        \
                     :                                                                         \
                     : "i"((~(b)&15) << 3 | 3), "i"(0xC0 | (sums) << 3 | (a)))

/* `f16` is a constant after inlining. */
__attribute__((target("amx-tile,amx-bf16"), always_inline)) static inline float
loop_tiles(int f16, int64_t turns)
{
    static const tile_config config
        __attribute__((aligned(64))) = {.palette = 1,
                                        .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                                        .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    float sums[16 * 16];
    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
    for (int64_t k = 0; k < turns && f16; k++) {
        DOT_F16(0, 4, 6);
        DOT_F16(1, 4, 7);
        DOT_F16(2, 5, 6);
        DOT_F16(3, 5, 7);
    }
    for (int64_t k = 0; k < turns && !f16; k++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, 64);
    _tile_release();
    __asm__ volatile("" : : "r"(sums) : "memory");
    return sums[0];
}
__attribute__((target("amx-tile,amx-bf16"))) static float loop_amx(int64_t turns)
{
    return loop_tiles(0, turns);
}
static const peak_kind amx = {"tdpbf16ps of 16 x 16 tiles", loop_amx, 4.0 * 2 * 16 * 16 * 32,
                              1 << 16};

__attribute__((target("amx-tile,amx-bf16"))) static float loop_amx_fp16(int64_t turns)
{
    return loop_tiles(1, turns);
}
static const peak_kind amx_fp16 = {"tdpfp16ps of 16 x 16 tiles", loop_amx_fp16,
                                   4.0 * 2 * 16 * 16 * 32, 1 << 16};
#endif

/* NULL: this level has no such instruction. */
static const peak_kind *kind_of(int peak)
{
#if defined(__x86_64__)
    const int32_t level = tutti_isa();
    if (peak == MACHINE_PEAK_DOT)
        return level >= TUTTI_ISA_bf16 ? &dot : NULL;
    if (peak == MACHINE_PEAK_AMX)
        return level >= TUTTI_ISA_amx ? &amx : NULL;
    if (peak == MACHINE_PEAK_AMX_FP16)
        return level >= TUTTI_ISA_amx_fp16 ? &amx_fp16 : NULL;
    if (level >= TUTTI_ISA_v3)
        return level >= TUTTI_ISA_v4 ? &v4 : &v3;
#endif
    return peak == MACHINE_PEAK_F32 ? &base : NULL;
}

const char *machine_peak_name(int peak)
{
    const peak_kind *k = kind_of(peak);
    return k ? k->name : NULL;
}

double machine_peak(int peak, int threads)
{
    const peak_kind *k = kind_of(peak);
    double best = 1e9;
    float all = 0.0f;
    for (int round = 0; round < ROUNDS && k; round++) {
        const double start = monotonic_s();
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : all)
        for (int part = 0; part < threads; part++)
            all += k->loop(k->turns);
        const double took = monotonic_s() - start;
        best = took < best ? took : best;
    }
    __asm__ volatile("" : : "r"(&all) : "memory");
    return k ? (double)threads * k->flops * (double)k->turns / best : 0.0;
}
