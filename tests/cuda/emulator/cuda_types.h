/* cuda_types.h - CUDA's vector types, and the least and most of two numbers, for the emulator. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_CUDA_TYPES_H
#define TESTS_CUDA_CUDA_TYPES_H

#include <math.h>

#define EMULATOR_VECTORS(base, type)                                                           \
    struct alignas(2 * sizeof(type)) base##2                                                   \
    {                                                                                          \
        type x, y;                                                                             \
    };                                                                                         \
    struct base##3                                                                             \
    {                                                                                          \
        type x, y, z;                                                                          \
    };                                                                                         \
    struct alignas(4 * sizeof(type) < 16 ? 4 * sizeof(type) : 16) base##4                      \
    {                                                                                          \
        type x, y, z, w;                                                                       \
    };                                                                                         \
    inline base##2 make_##base##2(type x, type y)                                              \
    {                                                                                          \
        return {x, y};                                                                         \
    }                                                                                          \
    inline base##3 make_##base##3(type x, type y, type z)                                      \
    {                                                                                          \
        return {x, y, z};                                                                      \
    }                                                                                          \
    inline base##4 make_##base##4(type x, type y, type z, type w)                              \
    {                                                                                          \
        return {x, y, z, w};                                                                   \
    }

EMULATOR_VECTORS(char, signed char)
EMULATOR_VECTORS(uchar, unsigned char)
EMULATOR_VECTORS(short, short)
EMULATOR_VECTORS(ushort, unsigned short)
EMULATOR_VECTORS(int, int)
EMULATOR_VECTORS(uint, unsigned)
EMULATOR_VECTORS(float, float)
EMULATOR_VECTORS(longlong, long long)
EMULATOR_VECTORS(ulonglong, unsigned long long)
EMULATOR_VECTORS(double, double)
#undef EMULATOR_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

#define EMULATOR_LEAST_AND_MOST(type)                                                          \
    inline type min(type a, type b)                                                            \
    {                                                                                          \
        return a < b ? a : b;                                                                  \
    }                                                                                          \
    inline type max(type a, type b)                                                            \
    {                                                                                          \
        return a > b ? a : b;                                                                  \
    }
EMULATOR_LEAST_AND_MOST(int)
EMULATOR_LEAST_AND_MOST(unsigned)
EMULATOR_LEAST_AND_MOST(long)
EMULATOR_LEAST_AND_MOST(unsigned long)
EMULATOR_LEAST_AND_MOST(long long)
EMULATOR_LEAST_AND_MOST(unsigned long long)
#undef EMULATOR_LEAST_AND_MOST
inline float min(float a, float b)
{
    return fminf(a, b);
}
inline float max(float a, float b)
{
    return fmaxf(a, b);
}
inline double min(double a, double b)
{
    return fmin(a, b);
}
inline double max(double a, double b)
{
    return fmax(a, b);
}

#endif
