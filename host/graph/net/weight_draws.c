/* weight_draws.c - loops over lanes, which compilers turn into vectors: compiled once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/weight_draws.h"
#include "tutti/rng.h"

#include <math.h>
#include <string.h>

enum { LANES = WEIGHT_DRAWS / 2 }; /* blocks of random words */

#define INLINE static inline __attribute__((always_inline))

/* tutti_rng() of LANES blocks, word by word. */
INLINE void random_words(uint64_t seed, uint64_t key, uint64_t block, uint32_t w[4][LANES])
{
    uint32_t k0 = (uint32_t)seed ^ (TUTTI_RNG_INIT * 0x9E3779B1u);
    uint32_t k1 = (uint32_t)(seed >> 32) ^ TUTTI_RNG_INIT;
    for (int k = 0; k < LANES; k++) {
        w[0][k] = (uint32_t)(block + (uint64_t)k);
        w[1][k] = (uint32_t)((block + (uint64_t)k) >> 32);
        w[2][k] = (uint32_t)key;
        w[3][k] = (uint32_t)(key >> 32);
    }
    for (int round = 0; round < 10; round++) {
        for (int k = 0; k < LANES; k++) {
            const uint64_t p0 = (uint64_t)0xD2511F53u * w[0][k];
            const uint64_t p1 = (uint64_t)0xCD9E8D57u * w[2][k];
            w[0][k] = (uint32_t)(p1 >> 32) ^ w[1][k] ^ k0;
            w[2][k] = (uint32_t)(p0 >> 32) ^ w[3][k] ^ k1;
            w[1][k] = (uint32_t)p1;
            w[3][k] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

INLINE double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A whole number below 2^32, exactly: as the last bits of one of 2^52 and more. */
INLINE double from_u32(uint32_t x)
{
    return from_bits(UINT64_C(0x4330000000000000) | x) - 4503599627370496.0;
}

/* tutti_uniform_f64(), to the bit. */
INLINE double uniform(uint32_t hi, uint32_t lo)
{
    return (from_u32(hi) * 2097152.0 + from_u32(lo >> 11)) * (1.0 / 9007199254740992.0);
}

/* The logarithm of u in [2^-53, 1], by that of m = u / 2^e in [sqrt(1/2), sqrt(2)): 2 atanh((m - 1) / (m + 1)) as its series,
 * whose first term left out is 2^-55 of the result. */
INLINE double logarithm(double u)
{
    enum { RAISED = 64 }; /* keeps e above 0 */
    uint64_t bits;
    memcpy(&bits, &u, sizeof bits);
    const uint64_t e =
        (bits - UINT64_C(0x3FE6A09E667F3BCD) + (UINT64_C(1) * RAISED << 52)) >> 52;
    const double m = from_bits(bits - ((e - RAISED) << 52));
    const double s = (m - 1.0) / (m + 1.0), t = s * s;
    double sum = 1.0 / 21.0;
    sum = sum * t + 1.0 / 19.0;
    sum = sum * t + 1.0 / 17.0;
    sum = sum * t + 1.0 / 15.0;
    sum = sum * t + 1.0 / 13.0;
    sum = sum * t + 1.0 / 11.0;
    sum = sum * t + 1.0 / 9.0;
    sum = sum * t + 1.0 / 7.0;
    sum = sum * t + 1.0 / 5.0;
    sum = sum * t + 1.0 / 3.0;
    sum = sum * t + 1.0;
    return (from_u32((uint32_t)e) - RAISED) * 0.693147180559945309417 + 2.0 * s * sum;
}

/* Taylor's series of sine and cosine in [-pi/4, pi/4]; the first terms left out are below 2^-53 of the results. */
INLINE double sine(double x)
{
    const double t = x * x;
    double sum = -1.0 / 1307674368000.0;
    sum = sum * t + 1.0 / 6227020800.0;
    sum = sum * t - 1.0 / 39916800.0;
    sum = sum * t + 1.0 / 362880.0;
    sum = sum * t - 1.0 / 5040.0;
    sum = sum * t + 1.0 / 120.0;
    sum = sum * t - 1.0 / 6.0;
    return x + x * t * sum;
}

INLINE double cosine(double x)
{
    const double t = x * x;
    double sum = 1.0 / 20922789888000.0;
    sum = sum * t - 1.0 / 87178291200.0;
    sum = sum * t + 1.0 / 479001600.0;
    sum = sum * t - 1.0 / 3628800.0;
    sum = sum * t + 1.0 / 40320.0;
    sum = sum * t - 1.0 / 720.0;
    sum = sum * t + 1.0 / 24.0;
    sum = sum * t - 0.5;
    return 1.0 + t * sum;
}

/* The cosine and the sine of 2 pi v, v in [0, 1). */
INLINE void turn(double v, double *ret_cosine, double *ret_sine)
{
    const double rounding =
        6755399441055744.0; /* 1.5 * 2^52: what is added to it becomes whole */
    const double raised = 4.0 * v + rounding;
    const double x = (v - 0.25 * (raised - rounding)) * 6.283185307179586476925;
    uint64_t quarter;
    memcpy(&quarter, &raised, sizeof quarter);
    const double s = sine(x), c = cosine(x);
    const double a = quarter & 1 ? s : c, b = quarter & 1 ? c : s;
    *ret_cosine = (quarter + 1) & 2 ? -a : a;
    *ret_sine = quarter & 2 ? -b : b;
}

/* Rounds a value to a float; returns whether one that is `off` away could become another one. */
INLINE int rounded(double value, double off, float *to)
{
    const float low = (float)(value - off), high = (float)(value + off);
    *to = high;
    return low != high;
}

/* The definition rounds the angle, its cosine or sine, logarithm, root and product in f64, and so do the lines above: together
 * less than 2^-49 of the radius.  2^-47 are allowed for. */
INLINE int normal_values(const weight_recipe *r, uint32_t w[4][LANES], float *to)
{
    int unsure = 0;
    for (int k = 0; k < LANES; k++) {
        const double u = 1.0 - uniform(w[0][k], w[1][k]);
        const double radius = sqrt(-2.0 * logarithm(u));
        const double off = (fabs(r->shift) + fabs(r->scale) * radius) * 0x1p-47;
        double c, s;
        turn(uniform(w[2][k], w[3][k]), &c, &s);
        unsure |= rounded(r->shift + r->scale * radius * c, off, &to[2 * k]);
        unsure |= rounded(r->shift + r->scale * radius * s, off, &to[2 * k + 1]);
        unsure |= off <= 0.0; /* zeros have signs */
    }
    return unsure;
}

/* A draw has the bits of the definition; here and there a multiplication and an addition may be one operation. */
INLINE int uniform_values(const weight_recipe *r, uint32_t w[4][LANES], float *to)
{
    const double off = (fabs(r->shift) + fabs(r->scale)) * 0x1p-50;
    const double scale = r->centred ? 2.0 * r->scale : r->scale;
    const double shift = r->centred ? r->shift - r->scale : r->shift;
    int unsure = off <= 0.0; /* zeros have signs */
    for (int k = 0; k < LANES; k++) {
        unsure |= rounded(shift + scale * uniform(w[0][k], w[1][k]), off, &to[2 * k]);
        unsure |= rounded(shift + scale * uniform(w[2][k], w[3][k]), off, &to[2 * k + 1]);
    }
    return unsure;
}

bool weight_draws(const weight_recipe *r, uint64_t seed, uint64_t key, uint64_t block,
                  float *to)
{
    uint32_t w[4][LANES];
    random_words(seed, key, block, w);
    return !(r->normal ? normal_values(r, w, to) : uniform_values(r, w, to));
}
