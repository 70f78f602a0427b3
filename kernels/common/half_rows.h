/* half_rows.h - operands of F32, BF16 or F16 block by block in f32, for kernels of TUTTI_OP_HALF. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_HALF_ROWS_H
#define KERNELS_COMMON_HALF_ROWS_H

#include "common/half.h"
#include "common/op_util.h"
#include "common/simd.h"

static inline int half_is(int32_t dtype)
{
    return dtype == TUTTI_BF16 || dtype == TUTTI_F16;
}

static inline void half_upcast(const uint16_t *from, int32_t dtype, float *to, int64_t n)
{
    if (dtype == TUTTI_BF16) {
        OP_LOOP for (int64_t i = 0; i < n; i++) to[i] = half_from_bf16(from[i]);
    } else {
        OP_LOOP for (int64_t i = 0; i < n; i++) to[i] = half_from_f16(from[i]);
    }
}

static inline void half_downcast(const float *from, uint16_t *to, int32_t dtype, int64_t n)
{
    if (dtype == TUTTI_BF16) {
#if defined(__AVX512BF16__) || defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
        const int64_t whole = n / SIMD_WIDTH * SIMD_WIDTH;
#else
        const int64_t whole = 0;
#endif
        for (int64_t i = 0; i < whole; i += SIMD_WIDTH)
            simd_store_bf16((const simd_f32 *)(from + i), to + i);
        OP_LOOP for (int64_t i = whole; i < n; i++) to[i] = half_to_bf16(from[i]);
    } else {
        OP_LOOP for (int64_t i = 0; i < n; i++) to[i] = half_to_f16(from[i]);
    }
}

/* Elements [at, at + n): where they lie if they are f32, otherwise in `buffer`, converted. */
static inline const float *half_read(const void *data, int32_t dtype, int64_t at, int64_t n,
                                     float *buffer)
{
    if (!half_is(dtype))
        return (const float *)data + at;
    half_upcast((const uint16_t *)data + at, dtype, buffer, n);
    return buffer;
}

/* Where elements from `at` on are to be written, before half_write brings them to their place. */
static inline float *half_place(void *data, int32_t dtype, int64_t at, float *buffer)
{
    return half_is(dtype) ? buffer : (float *)data + at;
}

static inline void half_write(void *data, int32_t dtype, int64_t at, int64_t n,
                              const float *buffer)
{
    if (half_is(dtype))
        half_downcast(buffer, (uint16_t *)data + at, dtype, n);
}

#endif
