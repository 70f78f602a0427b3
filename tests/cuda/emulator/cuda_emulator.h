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

#include "cuda_types.h"

/* Programs that are linked with the emulator have these, and libraries that are loaded beside a libcudart that is
 * made of it. */
#pragma GCC visibility push(default)

/* Of the thread that runs; set at each switch. */
extern "C" {
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
}
constexpr int warpSize = 32;

/* The runtime's side (emulator.cc).  A site is where in the text a thread waits. */
extern "C" {
enum { EMULATOR_SYNC, EMULATOR_SHUFFLE, EMULATOR_BALLOT, EMULATOR_GATHER };
struct emulator_site {
    const char *file;
    int line;
    const char *call;
};
struct emulator_votes {
    unsigned any, all, count;
};
emulator_votes emulator_barrier(const emulator_site *site, int vote);
/* `from` is the lane that is asked (SHUFFLE).  Gives that lane's value, or the ballot. */
uint64_t emulator_warp(const emulator_site *site, int what, unsigned mask, uint64_t value,
                       unsigned from, uint64_t *ret_values);
/* What all lanes of the warp brought, six words each; good until the lane's next but one. */
const uint32_t (*emulator_exchange(const emulator_site *site, const uint32_t *mine))[6];
/* ldmatrix.x4, of 16 bits. */
void emulator_matrices(const emulator_site *site, uint32_t *to, const void *row,
                       bool transposed);
/* cp.async: done at once, or when it is waited for. */
void emulator_copy(void *to, const void *from, unsigned bytes, bool there);
void emulator_commit(void);
void emulator_wait(unsigned left);
/* An ordinary access to shared memory: its banks are looked at. */
void emulator_access(const void *at, unsigned bytes);
/* A store that the hardware makes to device memory, whatever the address: one in shared memory is a fault. */
void emulator_device_store(const void *to, unsigned bytes);
void *emulator_shared(size_t bytes, size_t align);
void *emulator_dynamic_shared(void);
[[noreturn]] void emulator_fault(const char *what);
void emulator_add(emulator_kernel *kernel);
void emulator_set_condition(unsigned long long handle, unsigned value);
}
#pragma GCC visibility pop

inline void cudaGraphSetConditional(unsigned long long handle, unsigned value)
{
    emulator_set_condition(handle, value);
}

#define EMULATOR_SITE(call_)                                                                   \
    ([]() -> const emulator_site * {                                                           \
        static constexpr emulator_site site = {__FILE__, __LINE__, call_};                     \
        return &site;                                                                          \
    }())

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

/* ---- threads together ---- */

#define __syncthreads() ((void)emulator_barrier(EMULATOR_SITE("__syncthreads"), 0))
#define __syncthreads_or(vote)                                                                 \
    ((int)emulator_barrier(EMULATOR_SITE("__syncthreads_or"), !!(vote)).any)
#define __syncthreads_and(vote)                                                                \
    ((int)emulator_barrier(EMULATOR_SITE("__syncthreads_and"), !!(vote)).all)
#define __syncthreads_count(vote)                                                              \
    ((int)emulator_barrier(EMULATOR_SITE("__syncthreads_count"), !!(vote)).count)

namespace emulator
{
inline unsigned lane()
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32u;
}

inline void syncwarp(const emulator_site *site, unsigned mask = ~0u)
{
    (void)emulator_warp(site, EMULATOR_SYNC, mask, 0, 0, nullptr);
}

template <class T>
inline T shuffle(const emulator_site *site, unsigned mask, T value, unsigned from)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = emulator_warp(site, EMULATOR_SHUFFLE, mask, bits, from, nullptr);
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <class T>
inline T shfl(const emulator_site *site, unsigned mask, T value, int from, int width = 32)
{
    const unsigned me = lane(), w = unsigned(width);
    return shuffle(site, mask, value, (me & ~(w - 1)) | (unsigned(from) & (w - 1)));
}

template <class T>
inline T shfl_xor(const emulator_site *site, unsigned mask, T value, int bits, int width = 32)
{
    const unsigned me = lane(), to = me ^ unsigned(bits);
    const unsigned end = (me & ~(unsigned(width) - 1)) + unsigned(width);
    return shuffle(site, mask, value, to < end ? to : me);
}

template <class T>
inline T shfl_up(const emulator_site *site, unsigned mask, T value, unsigned by, int width = 32)
{
    const unsigned me = lane(), first = me & ~(unsigned(width) - 1);
    return shuffle(site, mask, value, me - first >= by ? me - by : me);
}

template <class T>
inline T shfl_down(const emulator_site *site, unsigned mask, T value, unsigned by,
                   int width = 32)
{
    const unsigned me = lane(), end = (me & ~(unsigned(width) - 1)) + unsigned(width);
    return shuffle(site, mask, value, me + by < end ? me + by : me);
}

inline unsigned ballot(const emulator_site *site, unsigned mask, int vote)
{
    return unsigned(emulator_warp(site, EMULATOR_BALLOT, mask, vote != 0, 0, nullptr));
}

/* The lanes of the mask that have my value. */
template <class T> inline unsigned match_any(const emulator_site *site, unsigned mask, T value)
{
    uint64_t bits = 0, values[32];
    memcpy(&bits, &value, sizeof value);
    const unsigned there =
        unsigned(emulator_warp(site, EMULATOR_GATHER, mask, bits, 0, values));
    unsigned same = 0;
    for (unsigned k = 0; k < 32; k++)
        same |= (there >> k & 1u) && values[k] == bits ? 1u << k : 0u;
    return same;
}

template <class T, class F>
inline T reduce(const emulator_site *site, unsigned mask, T value, F fold)
{
    uint64_t bits = 0, values[32];
    memcpy(&bits, &value, sizeof value);
    const unsigned there =
        unsigned(emulator_warp(site, EMULATOR_GATHER, mask, bits, 0, values));
    T all = value;
    bool first = true;
    for (unsigned k = 0; k < 32; k++) {
        T one;
        memcpy(&one, &values[k], sizeof one);
        if (there >> k & 1u) {
            all = first ? one : fold(all, one);
            first = false;
        }
    }
    return all;
}
} // namespace emulator

#define __syncwarp(...)                                                                        \
    emulator::syncwarp(EMULATOR_SITE("__syncwarp") __VA_OPT__(, ) __VA_ARGS__)
#define __shfl_sync(...) emulator::shfl(EMULATOR_SITE("__shfl_sync"), __VA_ARGS__)
#define __shfl_xor_sync(...) emulator::shfl_xor(EMULATOR_SITE("__shfl_xor_sync"), __VA_ARGS__)
#define __shfl_up_sync(...) emulator::shfl_up(EMULATOR_SITE("__shfl_up_sync"), __VA_ARGS__)
#define __shfl_down_sync(...)                                                                  \
    emulator::shfl_down(EMULATOR_SITE("__shfl_down_sync"), __VA_ARGS__)
#define __ballot_sync(mask, vote)                                                              \
    emulator::ballot(EMULATOR_SITE("__ballot_sync"), (mask), (vote))
#define __any_sync(mask, vote)                                                                 \
    (emulator::ballot(EMULATOR_SITE("__any_sync"), (mask), (vote)) != 0)
#define __all_sync(mask, vote)                                                                 \
    (emulator::ballot(EMULATOR_SITE("__all_sync"), (mask), !(vote)) == 0)
#define __match_any_sync(mask, value)                                                          \
    emulator::match_any(EMULATOR_SITE("__match_any_sync"), (mask), (value))
#define EMULATOR_REDUCE(mask, value, call, ...)                                                \
    emulator::reduce(EMULATOR_SITE(call), (mask), (value),                                     \
                     [](auto a, auto b) { return decltype(a)(__VA_ARGS__); })
#define __reduce_add_sync(mask, value) EMULATOR_REDUCE(mask, value, "__reduce_add_sync", a + b)
#define __reduce_min_sync(mask, value)                                                         \
    EMULATOR_REDUCE(mask, value, "__reduce_min_sync", a < b ? a : b)
#define __reduce_max_sync(mask, value)                                                         \
    EMULATOR_REDUCE(mask, value, "__reduce_max_sync", a > b ? a : b)
#define __reduce_or_sync(mask, value) EMULATOR_REDUCE(mask, value, "__reduce_or_sync", a | b)

#define EMULATOR_EXCHANGE(mine) emulator_exchange(EMULATOR_SITE("mma"), (mine))
#define EMULATOR_MATRICES(to, row, transposed)                                                 \
    emulator_matrices(EMULATOR_SITE("ldmatrix"), (to), (row), (transposed))

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
