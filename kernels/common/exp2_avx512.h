/* exp2_avx512.h - powers of two of sixteen numbers, for results that are rounded to 16 bits. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_EXP2_AVX512_H
#define KERNELS_COMMON_EXP2_AVX512_H

#include "common/simd.h"

#include <immintrin.h>

/* 2^t, |t| < 126: 2.6e-6. */
SIMD_INLINE __m512 exp2_avx512(__m512 t)
{
    const __m512 n = _mm512_roundscale_ps(t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 f = _mm512_sub_ps(t, n);
    __m512 p = _mm512_set1_ps(9.570101978e-03f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(5.591786087e-02f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(2.402474483e-01f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(6.931218147e-01f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(9.999992614e-01f));
    return _mm512_scalef_ps(p, n);
}

#endif
