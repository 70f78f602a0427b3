/* cuda_warp.h - threads together: CUDA's barriers, shuffles, votes and reductions, for the emulator. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_CUDA_WARP_H
#define TESTS_CUDA_CUDA_WARP_H

#include "emulator_calls.h"

#include <string.h>

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

#endif
