/* trust_cuda.h - the kernels for GPUs of an optimizer with a trust ratio: NAME_look_cuda and NAME_move_cuda.
 *
 * Sums are those of the CPU to the bit: 256 lanes a piece, which are paired. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRUST_CUDA_H
#define TRUST_CUDA_H

#include "../common/squares_cuda.h"
#include "trust_step.h"
#include "tutti/half.h"
#include "tutti/optimizer.h"

#define TRUST_CUDA(name)                                                                       \
    TUTTI_KERNEL(name##_look_cuda)                                                             \
    (const float *w, const float *g, float *a, float *b, double *parts, const double *now,     \
     double s0, double s1, double s2, double s3, double s4, int32_t flags, int32_t kind,       \
     int64_t n, int64_t pieces, int64_t threads)                                               \
    {                                                                                          \
        TUTTI_BLOCK(name##_step, block, 1);                                                    \
        TUTTI_BLOCK(double, lanes, SQUARES_LANES);                                             \
        const double settings[] = {s0, s1, s2, s3, s4};                                        \
        if (threadIdx.x == 0)                                                                  \
            *block =                                                                           \
                name##_at(settings, flags, kind, now[TUTTI_UPDATE_LR], now[TUTTI_UPDATE_STEP], \
                          now[TUTTI_UPDATE_FACTOR], now[TUTTI_UPDATE_NORM]);                   \
        __syncthreads();                                                                       \
        const name##_step c = *block;                                                          \
        if (now[TUTTI_UPDATE_SKIP] != 0.0)                                                     \
            return;                                                                            \
        for (int64_t p = blockIdx.x; p < pieces; p += gridDim.x) {                             \
            const int64_t at = p * SQUARES_PIECE;                                              \
            const int64_t end = at + SQUARES_PIECE < n ? at + SQUARES_PIECE : n;               \
            double of_w = 0.0, of_step = 0.0;                                                  \
            for (int64_t k = at + threadIdx.x; k < end; k += SQUARES_LANES) {                  \
                const trust_pair x =                                                           \
                    name##_look(w[k], g[k], a ? a + k : a, b ? b + k : b, c, kind);            \
                of_w += squares_term(x.w, 0.0f);                                               \
                of_step += squares_term(x.step, 0.0f);                                         \
            }                                                                                  \
            of_w = squares_pair(lanes, of_w);                                                  \
            of_step = squares_pair(lanes, of_step);                                            \
            if (threadIdx.x == 0) {                                                            \
                parts[2 * p] = of_w;                                                           \
                parts[2 * p + 1] = of_step;                                                    \
            }                                                                                  \
        }                                                                                      \
    }                                                                                          \
    TUTTI_KERNEL_ENTRY(name##_look_cuda);                                                      \
                                                                                               \
    TUTTI_KERNEL(name##_move_cuda)                                                             \
    (float *w, const float *g, float *a, float *b, const double *parts, uint16_t *low,         \
     const double *now, double s0, double s1, double s2, double s3, double s4, int32_t flags,  \
     int32_t kind, int32_t low_dtype, int64_t n, int64_t pieces)                               \
    {                                                                                          \
        TUTTI_BLOCK(name##_step, block, 1);                                                    \
        TUTTI_BLOCK(double, lanes, SQUARES_LANES);                                             \
        const double settings[] = {s0, s1, s2, s3, s4};                                        \
        double of_w = 0.0, of_step = 0.0;                                                      \
        if (threadIdx.x == 0)                                                                  \
            *block =                                                                           \
                name##_at(settings, flags, kind, now[TUTTI_UPDATE_LR], now[TUTTI_UPDATE_STEP], \
                          now[TUTTI_UPDATE_FACTOR], now[TUTTI_UPDATE_NORM]);                   \
        __syncthreads();                                                                       \
        const name##_step c = *block;                                                          \
        if (now[TUTTI_UPDATE_SKIP] != 0.0)                                                     \
            return;                                                                            \
        for (int64_t k = threadIdx.x; k < pieces; k += SQUARES_LANES) {                        \
            of_w += parts[2 * k];                                                              \
            of_step += parts[2 * k + 1];                                                       \
        }                                                                                      \
        of_w = squares_pair(lanes, of_w);                                                      \
        of_step = squares_pair(lanes, of_step);                                                \
        const float ratio = name##_ratio(c, sqrt(of_w), sqrt(of_step));                        \
        TUTTI_EACH(k, n)                                                                       \
        {                                                                                      \
            const float x =                                                                    \
                name##_move(w[k], g[k], a ? a + k : a, b ? b + k : b, c, ratio, kind);         \
            w[k] = x;                                                                          \
            if (low)                                                                           \
                low[k] = tutti_to_half(x, low_dtype);                                          \
        }                                                                                      \
    }                                                                                          \
    TUTTI_KERNEL_ENTRY(name##_move_cuda)

#endif
