/* cuda_atomics.h - CUDA's fences and atomics, for the emulator. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_CUDA_ATOMICS_H
#define TESTS_CUDA_CUDA_ATOMICS_H

#include "emulator_calls.h"

#include <type_traits>

/* Threads run one at a time, so a fence has nothing to do and an atomic is what it computes. */
#define __threadfence() ((void)0)
#define __threadfence_block() ((void)0)
#define __trap() emulator_fault("it called __trap")

namespace emulator
{
template <class T, class F> inline T atomic(T *at, F change)
{
    const T old = *at;
    *at = T(change(old));
    return old;
}
template <class T> using same = std::enable_if_t<true, T>; /* no deduction from this argument */
} // namespace emulator

template <class T> inline T atomicAdd(T *at, emulator::same<T> x)
{
    return emulator::atomic(at, [=](T old) { return old + x; });
}
template <class T> inline T atomicSub(T *at, emulator::same<T> x)
{
    return emulator::atomic(at, [=](T old) { return old - x; });
}
template <class T> inline T atomicExch(T *at, emulator::same<T> x)
{
    return emulator::atomic(at, [=](T) { return x; });
}
template <class T> inline T atomicMax(T *at, emulator::same<T> x)
{
    static_assert(std::is_integral_v<T>, "CUDA has atomicMax for integers only");
    return emulator::atomic(at, [=](T old) { return old > x ? old : x; });
}
template <class T> inline T atomicMin(T *at, emulator::same<T> x)
{
    static_assert(std::is_integral_v<T>, "CUDA has atomicMin for integers only");
    return emulator::atomic(at, [=](T old) { return old < x ? old : x; });
}
template <class T> inline T atomicOr(T *at, emulator::same<T> x)
{
    return emulator::atomic(at, [=](T old) { return old | x; });
}
template <class T> inline T atomicAnd(T *at, emulator::same<T> x)
{
    return emulator::atomic(at, [=](T old) { return old & x; });
}
template <class T> inline T atomicCAS(T *at, emulator::same<T> want, emulator::same<T> x)
{
    static_assert(std::is_integral_v<T>, "CUDA has atomicCAS for integers only");
    return emulator::atomic(at, [=](T old) { return old == want ? x : old; });
}
inline unsigned atomicInc(unsigned *at, unsigned most)
{
    return emulator::atomic(at, [=](unsigned old) { return old >= most ? 0u : old + 1u; });
}

#endif
