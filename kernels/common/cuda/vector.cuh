/* vector.cuh - several neighbouring elements at once, in loads and stores of up to 16 bytes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_VECTOR_CUH
#define KERNELS_COMMON_CUDA_VECTOR_CUH

#include "common/cuda/device.cuh"

/* What one instruction moves. */
template <int N> struct alignas(4 * N) cuda_words {
    uint32_t w[N];
};

/* The elements of 16 bits in a word, by the device's own conversions where there are some. */
__device__ static inline float cuda_widen(uint32_t bits, int32_t dtype)
{
    if (dtype == TUTTI_BF16)
        return fast_from_bits(bits << 16);
#ifdef __CUDA_ARCH__
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((uint16_t)bits));
    return x;
#else
    return half_from_f16((uint16_t)bits);
#endif
}

__device__ static inline uint32_t cuda_narrow(float x, int32_t dtype)
{
#ifdef __CUDA_ARCH__
    uint16_t bits;
    if (dtype == TUTTI_BF16)
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    else
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#else
    return dtype == TUTTI_BF16 ? half_to_bf16(x) : half_to_f16(x);
#endif
}

/* x = elements [k, k + V) of t; V is 1, 4 or 8, and k a multiple of V. */
template <int V>
__device__ static inline void cuda_load(const cuda_tensor &t, int64_t k, float (&x)[V])
{
    if constexpr (V == 1) {
        x[0] = cuda_get(t, k);
    } else if (t.dtype == TUTTI_F32) {
        const cuda_words<4> *from =
            reinterpret_cast<const cuda_words<4> *>(static_cast<const float *>(t.data) + k);
        for (int i = 0; i < V / 4; i++) {
            const cuda_words<4> some = from[i];
            for (int j = 0; j < 4; j++)
                x[4 * i + j] = fast_from_bits(some.w[j]);
        }
    } else {
        const cuda_words<V / 2> some = *reinterpret_cast<const cuda_words<V / 2> *>(
            static_cast<const uint16_t *>(t.data) + k);
        for (int j = 0; j < V / 2; j++) {
            x[2 * j] = cuda_widen(some.w[j] & 0xFFFFu, t.dtype);
            x[2 * j + 1] = cuda_widen(some.w[j] >> 16, t.dtype);
        }
    }
}

template <int V>
__device__ static inline void cuda_store(const cuda_tensor &t, int64_t k, const float (&x)[V])
{
    if constexpr (V == 1) {
        cuda_set(t, k, x[0]);
    } else if (t.dtype == TUTTI_F32) {
        cuda_words<4> *to = reinterpret_cast<cuda_words<4> *>(static_cast<float *>(t.data) + k);
        for (int i = 0; i < V / 4; i++) {
            cuda_words<4> some;
            for (int j = 0; j < 4; j++)
                some.w[j] = fast_bits(x[4 * i + j]);
            to[i] = some;
        }
    } else {
        cuda_words<V / 2> some;
        for (int j = 0; j < V / 2; j++)
            some.w[j] = cuda_narrow(x[2 * j], t.dtype) | cuda_narrow(x[2 * j + 1], t.dtype)
                                                             << 16;
        *reinterpret_cast<cuda_words<V / 2> *>(static_cast<uint16_t *>(t.data) + k) = some;
    }
}

#endif
