/* mma.cuh - what a warp does at once: tensor-core products, fragments from shared memory, asynchronous copies. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_MMA_CUH
#define KERNELS_COMMON_CUDA_MMA_CUH

#include "common/cuda/vector.cuh"

/* For compute capability 8.0 and newer; all 32 lanes call these together.  Numbers have 16 bits, DTYPE
 * BF16 or F16. */

/* sum (16, 8) += left (16, 16) right (16, 8).  Lane 4 g + t has of `left` rows g and g + 8 in columns 2 t,
 * 2 t + 1 and, 8 further, two more; of `right` column g in the same places; of `sum` rows g and g + 8 in
 * columns 2 t and 2 t + 1 (PTX ISA, "mma.m16n8k16"). */
template <int DTYPE>
__device__ static inline void cuda_mma(float (&sum)[4], const uint32_t (&left)[4], uint32_t b0,
                                       uint32_t b1)
{
#ifdef __CUDA_ARCH__
    if constexpr (DTYPE == TUTTI_BF16)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(b0), "r"(b1));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(b0), "r"(b1));
#else
    const uint32_t mine[6] = {left[0], left[1], left[2], left[3], b0, b1};
    const uint32_t(*warp)[6] = EMULATOR_EXCHANGE(mine);
    const int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4;
    for (int k = 0; k < 8; k++) /* columns 2 k and 2 k + 1 of `left` */
        for (int i = 0; i < 4; i++) {
            const uint32_t x = warp[4 * g + k % 4][k / 4 * 2 + i / 2];
            const uint32_t y = warp[4 * (2 * t + i % 2) + k % 4][4 + k / 4];
            for (int part = 0; part < 32; part += 16)
                sum[i] += cuda_upcast(x >> part & 0xFFFFu, DTYPE) *
                          cuda_upcast(y >> part & 0xFFFFu, DTYPE);
        }
#endif
}

/* Four matrices of 8 x 8 out of shared memory: lane 8 m + r names row r of matrix m, 16 bytes.  Lane 4 g + t
 * gets of each matrix row g, columns 2 t and 2 t + 1; TURNED: column g, rows 2 t and 2 t + 1 (PTX ISA,
 * "ldmatrix"). */
template <bool TURNED>
__device__ static inline void cuda_load_matrices(uint32_t (&to)[4], const uint16_t *row)
{
#ifdef __CUDA_ARCH__
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
    if constexpr (TURNED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(at)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(at)
                     : "memory");
#else
    EMULATOR_MATRICES(to, row, TURNED);
#endif
}

/* 16 bytes from global to shared memory, or zeros: begun, and there when the thread has waited for it; for
 * others behind the next barrier.  What was begun since the last commit is a group. */
__device__ static inline void cuda_copy_begin(uint16_t *to, const uint16_t *from, bool there)
{
#ifdef __CUDA_ARCH__
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from), "r"(there ? 16 : 0)
                 : "memory");
#else
    emulator_copy(to, from, 16, there);
#endif
}

__device__ static inline void cuda_copy_commit()
{
#ifdef __CUDA_ARCH__
    asm volatile("cp.async.commit_group;" : : : "memory");
#else
    emulator_commit();
#endif
}

/* Until at most LEFT of this thread's groups are on their way. */
template <int LEFT> __device__ static inline void cuda_copy_wait()
{
#ifdef __CUDA_ARCH__
    asm volatile("cp.async.wait_group %0;" : : "n"(LEFT) : "memory");
#else
    emulator_wait(LEFT);
#endif
}

/* Where eight numbers lie in a tile of rows of C: all banks serve eight rows of one column of such eights, and
 * eight neighbours of a row. */
template <int C> __device__ static inline int cuda_eight_at(int row, int eight)
{
    static_assert(C % 64 == 0, "a row takes all banks");
    return row * C + (eight ^ (row & 7)) * 8;
}

/* low and high in a word. */
template <int DTYPE> __device__ static inline uint32_t cuda_pair(float low, float high)
{
#ifdef __CUDA_ARCH__
    uint32_t word;
    if constexpr (DTYPE == TUTTI_BF16)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#else
    return cuda_downcast(low, DTYPE) | cuda_downcast(high, DTYPE) << 16;
#endif
}

/* Tells the emulator of an ordinary access to shared memory, so that it counts conflicts of banks. */
#ifdef __CUDACC__
#define CUDA_BANKS(at, bytes) ((void)0)
#else
#define CUDA_BANKS(at, bytes) emulator_access((at), (bytes))
#endif

#endif
