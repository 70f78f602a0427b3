/* gelu_avx512.h - GELU and its derivative of sixteen numbers, for results that are rounded to bf16. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_GELU_GELU_AVX512_H
#define KERNELS_GELU_GELU_AVX512_H

#include "common/exp2_avx512.h"
#include "gelu/gelu.h"

/* Errors stay below a twentieth of rounding to bf16: the polynomials (minimax fits) are shorter than those of gelu.h,
 * and a reciprocal and one step of Newton's stand for the division.
 * Arguments beyond these bounds give what they give there; maximum and minimum have the number as their
 * second operand, so that NaN stays. */
#define GELU_TANH_END 10.0f /* exp(-2 u) is a normal number */
#define GELU_ERF_END 13.0f  /* exp(-x^2 / 2) is one */

SIMD_INLINE __m512 gelu_clamp(__m512 x, float end)
{
    const __m512 low = _mm512_max_ps(_mm512_set1_ps(-end), x);
    return _mm512_min_ps(_mm512_set1_ps(end), low);
}

/* (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), u = c x (1 + k x^2). */
SIMD_INLINE __m512 gelu_tanh_phi(__m512 x, __m512 x2)
{
    const float c = (float)(-2.0 * GELU_C * 1.4426950408889634); /* exp as a power of two */
    const __m512 u = _mm512_fmadd_ps(x2, _mm512_set1_ps(c * (float)GELU_K), _mm512_set1_ps(c));
    const __m512 sum = _mm512_add_ps(exp2_avx512(_mm512_mul_ps(x, u)), _mm512_set1_ps(1.0f));
    const __m512 r = _mm512_rcp14_ps(sum);
    const __m512 rest = _mm512_fnmadd_ps(sum, r, _mm512_set1_ps(1.0f));
    return _mm512_fmadd_ps(r, rest, r);
}

/* Phi(x), as gelu_phi has it; R to 6.5e-5. */
SIMD_INLINE __m512 gelu_erf_phi(__m512 x, __m512 *ret_e)
{
    const __m512 t = _mm512_mul_ps(_mm512_abs_ps(x), _mm512_set1_ps((float)GELU_R));
    const __m512 u = _mm512_min_ps(_mm512_set1_ps(4.0f), t);
    const __m512 scaled = _mm512_mul_ps(x, _mm512_set1_ps(-0.72134752f)); /* log2(e) / 2 */
    const __m512 e = exp2_avx512(_mm512_mul_ps(scaled, x));
    __m512 p = _mm512_set1_ps(-1.674793459e-05f);
    p = _mm512_fmadd_ps(p, u, _mm512_set1_ps(3.677749832e-04f));
    p = _mm512_fmadd_ps(p, u, _mm512_set1_ps(-3.540244530e-03f));
    p = _mm512_fmadd_ps(p, u, _mm512_set1_ps(1.977332982e-02f));
    p = _mm512_fmadd_ps(p, u, _mm512_set1_ps(-7.182826937e-02f));
    p = _mm512_fmadd_ps(p, u, _mm512_set1_ps(1.817095425e-01f));
    p = _mm512_fmadd_ps(p, u, _mm512_set1_ps(-3.385069651e-01f));
    p = _mm512_fmadd_ps(p, u, _mm512_set1_ps(4.886373093e-01f));
    p = _mm512_fmadd_ps(p, u, _mm512_set1_ps(-5.627604779e-01f));
    p = _mm512_fmadd_ps(p, u, _mm512_set1_ps(4.999676950e-01f));
    const __m512 h = _mm512_mul_ps(e, p);
    const __mmask16 below = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ);
    *ret_e = e;
    return _mm512_mask_sub_ps(h, (__mmask16)~below, _mm512_set1_ps(1.0f), h);
}

SIMD_INLINE __m512 gelu_16(__m512 x, int tanh_form)
{
    const float end = tanh_form ? GELU_TANH_END : GELU_ERF_END;
    const __m512 low = _mm512_max_ps(_mm512_set1_ps(-end), x);
    const __m512 at = gelu_clamp(x, end);
    __m512 e;
    if (tanh_form)
        return _mm512_mul_ps(low, gelu_tanh_phi(at, _mm512_mul_ps(at, at)));
    return _mm512_mul_ps(low, gelu_erf_phi(at, &e));
}

/* GELU'(x), as gelu_grad_f32 has it. */
SIMD_INLINE __m512 gelu_slope_16(__m512 x, int tanh_form)
{
    const __m512 at = gelu_clamp(x, tanh_form ? GELU_TANH_END : GELU_ERF_END);
    if (!tanh_form) {
        __m512 e;
        const __m512 phi = gelu_erf_phi(at, &e);
        return _mm512_fmadd_ps(_mm512_mul_ps(at, _mm512_set1_ps((float)GELU_P)), e, phi);
    }
    const __m512 x2 = _mm512_mul_ps(at, at), s = gelu_tanh_phi(at, x2);
    const float c = (float)(2.0 * GELU_C);
    const __m512 du =
        _mm512_fmadd_ps(x2, _mm512_set1_ps(c * 3.0f * (float)GELU_K), _mm512_set1_ps(c));
    const __m512 both = _mm512_fnmadd_ps(s, s, s); /* s (1 - s) */
    return _mm512_fmadd_ps(_mm512_mul_ps(at, du), both, s);
}

#endif
