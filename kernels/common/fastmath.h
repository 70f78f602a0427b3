/* fastmath.h - exp, log, tanh, sigmoid and erf in f32 that compilers turn into vector code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_FASTMATH_H
#define KERNELS_COMMON_FASTMATH_H

#include "tutti/rng.h" /* TUTTI_HD */

#include <math.h>
#include <string.h>

/* No branches and no calls, so that a loop over them has none either.  The polynomials are minimax
 * fits (Remez) for the ranges stated.  Greatest errors over all f32 (fastmath_test.c):
 * exp and exp_down 1.1 ulp, log 0.9 ulp, tanh 1.7 ulp, erf 1.4 ulp, sigmoid 2.8 ulp (0 where it is
 * below 1e-38).  NaN gives NaN. */
#define FAST_HD TUTTI_HD __attribute__((always_inline))

FAST_HD float fast_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

FAST_HD uint32_t fast_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* x = n ln 2 + r, |r| <= ln(2) / 2, in the range of n: exp(r) = 1 + r + r^2 P(r). */
FAST_HD float fast_exp_rest(float x, uint32_t *ret_n)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: the sum's low bits are the rounded number */
    const float shifted = x * 1.44269504f + magic, n = shifted - magic;
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.381431841e-3f;
    p = p * r + 8.368851036e-3f;
    p = p * r + 4.166840111e-2f;
    p = p * r + 1.666651952e-1f;
    p = p * r + 4.999999337e-1f;
    *ret_n = fast_bits(shifted) - fast_bits(magic);
    return (p * (r * r) + r) + 1.0f;
}

/* 2^n exp(r).  2^n is applied in two halves, so that subnormal results round once more at most and
 * overflow becomes infinity. */
FAST_HD float fast_exp(float x)
{
    const float low = x < -104.0f ? -104.0f : x;
    uint32_t n;
    const float y = fast_exp_rest(low > 100.0f ? 100.0f : low, &n);
    const uint32_t whole = n + 512u, half = whole >> 1, rest = whole - half; /* whole > 0 */
    return y * fast_from_bits((half - 256u + 127u) << 23) *
           fast_from_bits((rest - 256u + 127u) << 23);
}

/* exp for x <= 0, and 0 below -87.33, where f32's normal numbers end: 2^n is one factor. */
FAST_HD float fast_exp_down(float x)
{
    uint32_t n;
    const float y = fast_exp_rest(x, &n);
    return x < -87.33f ? 0.0f : y * fast_from_bits((n + 127u) << 23);
}

/* x = 2^e (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1]; log(1 + f) = f - f^2 / 2 + f^3 P(f). */
FAST_HD float fast_log(float x)
{
    const int tiny = x < 1.17549435e-38f;
    const float scaled = x * 8388608.0f, normal = tiny ? scaled : x;
    const uint32_t bits = fast_bits(normal) - 0x3F3504F3u; /* sqrt(1/2) */
    const float e = (float)((int32_t)bits >> 23) - (tiny ? 23.0f : 0.0f);
    const float f = fast_from_bits((bits & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
    float p = 6.746602805e-2f;
    p = p * f - 1.167560422e-1f;
    p = p * f + 1.188815361e-1f;
    p = p * f - 1.240559651e-1f;
    p = p * f + 1.421955458e-1f;
    p = p * f - 1.666799550e-1f;
    p = p * f + 2.000211854e-1f;
    p = p * f - 2.500000960e-1f;
    p = p * f + 3.333331261e-1f;
    const float f2 = f * f;
    const float small = (p * f * f2 + e * -2.12194440e-4f) - 0.5f * f2;
    const float y = (small + f) + e * 0.693359375f;
    const float zero = x == 0.0f ? -INFINITY : y;
    const float wrong = x < 0.0f ? NAN : zero;
    return x <= 3.40282347e38f ? wrong : x; /* infinity and NaN stay */
}

FAST_HD float fast_with_sign(float magnitude, float sign)
{
    return fast_from_bits(fast_bits(magnitude) | (fast_bits(sign) & 0x80000000u));
}

/* |x| < 0.625: x + x^3 P(x^2); else 1 - 2 / (exp(2 |x|) + 1). */
FAST_HD float fast_tanh(float x)
{
    const float t = fabsf(x), s = x * x;
    float p = -5.704985592e-3f;
    p = p * s + 2.063908583e-2f;
    p = p * s - 5.373971459e-2f;
    p = p * s + 1.333144219e-1f;
    p = p * s - 3.333328194e-1f;
    const float near = t + t * (p * s);
    const float far = 1.0f - 2.0f / (fast_exp(2.0f * t) + 1.0f);
    return fast_with_sign(t < 0.625f ? near : far, x);
}

FAST_HD float fast_sigmoid(float x)
{
    const float e = fast_exp_down(-fabsf(x)), r = 1.0f / (1.0f + e);
    return x < 0.0f ? e * r : r;
}

/* |x| < 0.92: x + x P(x^2); else 1 - exp(Q(|x|)), where Q fits log(erfc) up to 3.95 and f32 ends. */
FAST_HD float fast_erf(float x)
{
    const float t = fabsf(x), s = x * x, u = t > 3.95f ? 3.95f : t;
    float p = -5.953741297e-4f;
    p = p * s + 4.985940496e-3f;
    p = p * s - 2.676171977e-2f;
    p = p * s + 1.128168254e-1f;
    p = p * s - 3.761248110e-1f;
    p = p * s + 1.283791477e-1f;
    float q = -2.109503705e-5f;
    q = q * u + 4.344625100e-4f;
    q = q * u - 4.171062720e-3f;
    q = q * u + 2.511942707e-2f;
    q = q * u - 1.082800896e-1f;
    q = q * u - 6.333469056e-1f;
    q = q * u - 1.129514931e0f;
    q = q * u + 1.746846021e-4f;
    const float far = 1.0f - fast_exp(q);
    return fast_with_sign(t < 0.92f ? t + t * p : far, x);
}

/* In f64, for what is computed once a row: exp for x <= 0, to 1.2 ulp, 0 where it is below 1e-300. */
TUTTI_HD double fast_exp_down_f64(double x)
{
    const double magic = 6755399441055744.0;    /* 1.5 * 2^52 */
    const double low = x > -690.0 ? x : -690.0; /* of a NaN too */
    const double shifted = low * 1.4426950408889634 + magic, n = shifted - magic;
    const double r = (low - n * 0.6931471803691238) - n * 1.9082149292705877e-10;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    const uint64_t bits = (uint64_t)((int64_t)n + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return x >= -690.0 ? (p * r + 1.0) * power : x < -690.0 ? 0.0 : x; /* a NaN stays */
}

/* log for x that is 0 or a normal number, to 2 ulp. */
TUTTI_HD double fast_log_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t from = bits - 0x3FE6A09E667F3BCDu; /* sqrt(1/2) */
    const uint64_t rest = (from & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu;
    const double e = (double)((int64_t)from >> 52);
    double m;
    memcpy(&m, &rest, sizeof m);
    const double f = m - 1.0, s = f / (2.0 + f), z = s * s;
    double p = 2.0 / 23.0; /* log((1 + s) / (1 - s)) = 2 s + 2/3 s^3 + ... */
    p = p * z + 2.0 / 21.0;
    p = p * z + 2.0 / 19.0;
    p = p * z + 2.0 / 17.0;
    p = p * z + 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    p = p * z + 2.0 / 3.0;
    const double cube = s * z, low = cube * p + e * 1.9082149292705877e-10;
    const double y = e * 0.6931471803691238 + (low + 2.0 * s);
    const double some = x > 0.0 && x < INFINITY ? y : x; /* infinity and NaN stay */
    return x == 0.0 ? -INFINITY : x < 0.0 ? NAN : some;
}

#endif
