/* cuda_emulator.h - CUDA's language for g++ and clang++: what device.cuh includes without nvcc. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_CUDA_EMULATOR_H
#define TESTS_CUDA_CUDA_EMULATOR_H

#include "emulator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__ const
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

#include "cuda_atomics.h"
#include "cuda_functions.h"
#include "cuda_types.h"
#include "cuda_warp.h"
#include "emulator_calls.h"

inline void cudaGraphSetConditional(unsigned long long handle, unsigned value)
{
    emulator_set_condition(handle, value);
}

/* ---- kernels and their memory ---- */

namespace emulator
{
template <auto K> struct entry;
template <class... A, void (*K)(A...)> struct entry<K> {
    static_assert((std::is_trivially_copyable_v<A> && ...), "arguments are copied as bytes");
    template <size_t... I> static void spread(void *const *args, std::index_sequence<I...>)
    {
        (void)args;
        K(*static_cast<std::remove_const_t<A> *>(args[I])...);
    }
    static void call(void *const *args)
    {
        spread(args, std::index_sequence_for<A...>{});
    }
    static constexpr uint32_t sizes[sizeof...(A) + 1] = {uint32_t(sizeof(A))..., 0};
    static constexpr uint32_t nargs = sizeof...(A);
};

struct registrar {
    emulator_kernel kernel;
    registrar(const char *image, const char *name, void (*call)(void *const *),
              const uint32_t *sizes, uint32_t nargs)
        : kernel{image, name, call, sizes, nargs, 0, nullptr}
    {
        emulator_add(&kernel);
    }
};
} // namespace emulator

/* The build says which image a file's kernels belong to. */
#define CUDA_KERNEL(name) static void name
#define CUDA_ENTRY(name)                                                                       \
    static emulator::registrar emulator_entry_##name(                                          \
        CUDA_EMULATED_IMAGE, #name, emulator::entry<&name>::call,                              \
        emulator::entry<&name>::sizes, emulator::entry<&name>::nargs)
#define CUDA_SHARED(type, name, count)                                                         \
    type *const name =                                                                         \
        static_cast<type *>(emulator_shared(sizeof(type) * (count), alignof(type)))
#define CUDA_DYNAMIC_SHARED(type, name)                                                        \
    type *const name = static_cast<type *>(emulator_dynamic_shared())

#endif
