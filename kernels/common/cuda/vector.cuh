/* vector.cuh - several neighbouring elements at once, in loads and stores of up to 16 bytes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_VECTOR_CUH
#define KERNELS_COMMON_CUDA_VECTOR_CUH

#include "common/cuda/device.cuh"

/* What one instruction moves. */
template <int N> struct alignas(4 * N) cuda_words {
    uint32_t w[N];
};

/* To global memory, aligned as the words are.  One instruction: in loops that are unrolled the compiler
 * loses the alignment and stores word by word. */
template <int N>
__device__ static inline void cuda_words_store(void *to, const cuda_words<N> &some)
{
#ifdef __CUDA_ARCH__
    if constexpr (N == 4)
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
                     :
                     : "l"(to), "r"(some.w[0]), "r"(some.w[1]), "r"(some.w[2]), "r"(some.w[3])
                     : "memory");
    else if constexpr (N == 2)
        asm volatile("st.global.v2.b32 [%0], {%1, %2};"
                     :
                     : "l"(to), "r"(some.w[0]), "r"(some.w[1])
                     : "memory");
    else
#elif !defined __CUDACC__
    emulator_device_store(to, sizeof some);
#endif
        *static_cast<cuda_words<N> *>(to) = some;
}

/* A tensor whose dtype is D, which the compiler then knows; D < 0 leaves it to the tensor. */
template <int D> __device__ static inline cuda_tensor cuda_typed(const cuda_tensor &t)
{
    cuda_tensor typed = t;
    if constexpr (D >= 0)
        typed.dtype = D;
    return typed;
}

/* The elements of 16 bits in a word, by the device's own conversions where there are some. */
__device__ static inline float cuda_upcast(uint32_t bits, int32_t dtype)
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

__device__ static inline uint32_t cuda_downcast(float x, int32_t dtype)
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

/* 2^x, by the device's own instruction: to about 22 bits, tiny ones are 0. */
__device__ static inline float cuda_exp2(float x)
{
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}

/* Two of them in a word, x below y. */
__device__ static inline uint32_t cuda_downcast_two(float x, float y, int32_t dtype)
{
#ifdef __CUDA_ARCH__
    uint32_t bits;
    if (dtype == TUTTI_BF16)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(y), "f"(x));
    else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(y), "f"(x));
    return bits;
#else
    return cuda_downcast(x, dtype) | cuda_downcast(y, dtype) << 16;
#endif
}

/* x = elements [k, k + V) of t; V is 1, 4 or 8, and k a multiple of V. */
template <int V>
__device__ static inline void cuda_load(const cuda_tensor &t, int64_t k, float (&x)[V])
{
    if constexpr (V == 1) {
        x[0] = cuda_get(t, k);
    } else if (t.dtype == TUTTI_F32) {
        const float *from = static_cast<const float *>(t.data) + k;
        for (int i = 0; i < V / 4; i++) {
            const cuda_words<4> some = *reinterpret_cast<const cuda_words<4> *>(from + 4 * i);
            for (int j = 0; j < 4; j++)
                x[4 * i + j] = fast_from_bits(some.w[j]);
        }
    } else {
        const cuda_words<V / 2> some = *reinterpret_cast<const cuda_words<V / 2> *>(
            static_cast<const uint16_t *>(t.data) + k);
        for (int j = 0; j < V / 2; j++) {
            x[2 * j] = cuda_upcast(some.w[j] & 0xFFFFu, t.dtype);
            x[2 * j + 1] = cuda_upcast(some.w[j] >> 16, t.dtype);
        }
    }
}

/* Into device memory alone: never into shared memory. */
template <int V>
__device__ static inline void cuda_store(const cuda_tensor &t, int64_t k, const float (&x)[V])
{
    if constexpr (V == 1) {
        cuda_set(t, k, x[0]);
    } else if (t.dtype == TUTTI_F32) {
        float *to = static_cast<float *>(t.data) + k;
        for (int i = 0; i < V / 4; i++) {
            cuda_words<4> some;
            for (int j = 0; j < 4; j++)
                some.w[j] = fast_bits(x[4 * i + j]);
            cuda_words_store(to + 4 * i, some);
        }
    } else {
        cuda_words<V / 2> some;
        for (int j = 0; j < V / 2; j++)
            some.w[j] = cuda_downcast_two(x[2 * j], x[2 * j + 1], t.dtype);
        cuda_words_store(static_cast<uint16_t *>(t.data) + k, some);
    }
}

/* Elements as they lie in memory where D is of 16 bits, so that loads under way hold few registers; else
 * what cuda_load gives. */
template <int V, int D, bool Half = (V > 1 && (D == TUTTI_BF16 || D == TUTTI_F16))>
struct cuda_packed {
    float x[V];

    __device__ void load(const cuda_tensor &t, int64_t k)
    {
        cuda_load(cuda_typed<D>(t), k, x);
    }
    __device__ float at(int i) const
    {
        return x[i];
    }
};

template <int V, int D> struct cuda_packed<V, D, true> {
    cuda_words<V / 2> x;

    __device__ void load(const cuda_tensor &t, int64_t k)
    {
        x = *reinterpret_cast<const cuda_words<V / 2> *>(static_cast<const uint16_t *>(t.data) +
                                                         k);
    }
    __device__ float at(int i) const
    {
        return cuda_upcast(i % 2 ? x.w[i / 2] >> 16 : x.w[i / 2] & 0xFFFFu, D);
    }
};

#endif
