/* cuda_functions.h - CUDA's functions of one thread, for the emulator. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_CUDA_FUNCTIONS_H
#define TESTS_CUDA_CUDA_FUNCTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

namespace emulator
{
template <class To, class From> inline To bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
} // namespace emulator

#define EMULATOR_BITS(name, to, from)                                                          \
    inline to name(from x)                                                                     \
    {                                                                                          \
        return emulator::bits<to>(x);                                                          \
    }
EMULATOR_BITS(__float_as_int, int, float)
EMULATOR_BITS(__float_as_uint, unsigned, float)
EMULATOR_BITS(__int_as_float, float, int)
EMULATOR_BITS(__uint_as_float, float, unsigned)
EMULATOR_BITS(__double_as_longlong, long long, double)
EMULATOR_BITS(__longlong_as_double, double, long long)
#undef EMULATOR_BITS

/* The approximations of the GPU are good to some 2 ulp, more for large arguments; these are better. */
#define EMULATOR_FUNCTION(name, of)                                                            \
    inline float name(float x)                                                                 \
    {                                                                                          \
        return of;                                                                             \
    }
EMULATOR_FUNCTION(rsqrtf, 1.0f / sqrtf(x))
EMULATOR_FUNCTION(__frsqrt_rn, float(1.0 / sqrt(double(x))))
EMULATOR_FUNCTION(__fsqrt_rn, sqrtf(x))
EMULATOR_FUNCTION(__frcp_rn, 1.0f / x)
EMULATOR_FUNCTION(__expf, expf(x))
EMULATOR_FUNCTION(__exp10f, powf(10.0f, x))
EMULATOR_FUNCTION(__logf, logf(x))
EMULATOR_FUNCTION(__log2f, log2f(x))
EMULATOR_FUNCTION(__log10f, log10f(x))
EMULATOR_FUNCTION(__sinf, sinf(x))
EMULATOR_FUNCTION(__cosf, cosf(x))
EMULATOR_FUNCTION(__tanf, tanf(x))
EMULATOR_FUNCTION(__saturatef, x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f)
#undef EMULATOR_FUNCTION

inline double rsqrt(double x)
{
    return 1.0 / sqrt(x);
}
inline float __fdividef(float a, float b)
{
    return a / b;
}
inline float __fdiv_rn(float a, float b)
{
    return a / b;
}
inline float __powf(float a, float b)
{
    return powf(a, b);
}
inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
inline float __fadd_rn(float a, float b)
{
    return a + b;
}
inline float __fsub_rn(float a, float b)
{
    return a - b;
}
inline float __fmul_rn(float a, float b)
{
    return a * b;
}
inline void __sincosf(float x, float *s, float *c)
{
    *s = sinf(x);
    *c = cosf(x);
}

inline int __float2int_rn(float x)
{
    return int(rintf(x));
}
inline int __float2int_rz(float x)
{
    return int(x);
}
inline int __float2int_rd(float x)
{
    return int(floorf(x));
}
inline float __int2float_rn(int x)
{
    return float(x);
}
inline float __uint2float_rn(unsigned x)
{
    return float(x);
}

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
inline int __clz(int x)
{
    return x ? __builtin_clz(unsigned(x)) : 32;
}
inline int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
inline unsigned __brev(unsigned x)
{
    unsigned y = 0;
    for (int k = 0; k < 32; k++)
        y |= (x >> k & 1u) << (31 - k);
    return y;
}
inline unsigned __umulhi(unsigned a, unsigned b)
{
    return unsigned(uint64_t(a) * b >> 32);
}
inline int __mulhi(int a, int b)
{
    return int(int64_t(a) * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    __extension__ typedef unsigned __int128 wide;
    return (unsigned long long)(wide(a) * b >> 64);
}

/* Loads and stores with a hint for the caches. */
#define EMULATOR_LOAD(name)                                                                    \
    template <class T> inline T name(const T *at)                                              \
    {                                                                                          \
        return *at;                                                                            \
    }
#define EMULATOR_STORE(name)                                                                   \
    template <class T> inline void name(T *at, const T &x)                                     \
    {                                                                                          \
        *at = x;                                                                               \
    }
EMULATOR_LOAD(__ldg)
EMULATOR_LOAD(__ldcs)
EMULATOR_LOAD(__ldcg)
EMULATOR_LOAD(__ldca)
EMULATOR_LOAD(__ldlu)
EMULATOR_LOAD(__ldcv)
EMULATOR_STORE(__stcs)
EMULATOR_STORE(__stcg)
EMULATOR_STORE(__stwb)
EMULATOR_STORE(__stwt)
#undef EMULATOR_LOAD
#undef EMULATOR_STORE

#endif
