/* elementwise.cuh - device code of whole elementwise operations from one function of maths. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_ELEMENTWISE_CUH
#define KERNELS_COMMON_CUDA_ELEMENTWISE_CUH

#include "common/cuda/index_iter.cuh"
#include "common/cuda/vector.cuh"

struct no_attr {
    char unused;
};

/* Elements k ... k + V - 1 of `to` out of those of `in`: f(x), f(x, y) or f(x, y, z). */
template <int V, int N, typename F>
__device__ static inline void cuda_map_group(const cuda_index_iter &w, int64_t k,
                                             const cuda_tensor (&in)[N], const cuda_tensor &to,
                                             F f)
{
    int64_t at[N];
    float x[N][V], y[V];
    cuda_index_iter_find(w, k, at);
    for (int j = 0; j < N; j++) {
        if (V == 1 || w.stride[j][w.rank - 1]) {
            cuda_load<V>(in[j], at[j], x[j]);
            continue;
        }
        const float same = cuda_get(in[j], at[j]);
        for (int i = 0; i < V; i++)
            x[j][i] = same;
    }
    for (int i = 0; i < V; i++) {
        if constexpr (N == 1)
            y[i] = f(x[0][i]);
        else if constexpr (N == 2)
            y[i] = f(x[0][i], x[1][i]);
        else
            y[i] = f(x[0][i], x[1][i], x[2][i]);
    }
    cuda_store<V>(to, k, y);
}

/* All of `to`, broadcasting: groups of 8 where the iterator allows, what is left one by one. */
template <int N, typename F>
__device__ static inline void cuda_map(const cuda_index_iter &w, const cuda_tensor (&in)[N],
                                       const cuda_tensor &to, F f)
{
    const int64_t groups = w.group == 8 ? w.n / 8 : 0, rest = w.n - 8 * groups;
    CUDA_EACH(k, groups)
    {
        cuda_map_group<8>(w, 8 * k, in, to, f);
    }
    CUDA_EACH(k, rest)
    {
        cuda_map_group<1>(w, 8 * groups + k, in, to, f);
    }
}

/* to[k] = <op>_f32 ARGS, where ARGS is (x) or (x, a). */
#define CUDA_UNARY_WITH(op, attr_type, ARGS)                                                   \
    CUDA_KERNEL(op##_cuda)                                                                     \
    (cuda_index_iter iter, cuda_tensor from, cuda_tensor to, attr_type own)                    \
    {                                                                                          \
        [[maybe_unused]] const attr_type *a = &own;                                            \
        const cuda_tensor in[1] = {from};                                                      \
        cuda_map(iter, in, to, [=](float x) { return op##_f32 ARGS; });                        \
    }                                                                                          \
    CUDA_ENTRY(op##_cuda)

#define CUDA_UNARY(op) CUDA_UNARY_WITH(op, no_attr, (x))
#define CUDA_UNARY_ATTR(op, attr_type) CUDA_UNARY_WITH(op, attr_type, (x, a))

/* to[k] = <op>_f32 ARGS, where ARGS is (x, y) or (x, y, a); for gradients too. */
#define CUDA_BINARY_WITH(op, attr_type, ARGS)                                                  \
    CUDA_KERNEL(op##_cuda)                                                                     \
    (cuda_index_iter iter, cuda_tensor first, cuda_tensor second, cuda_tensor to,              \
     attr_type own)                                                                            \
    {                                                                                          \
        [[maybe_unused]] const attr_type *a = &own;                                            \
        const cuda_tensor in[2] = {first, second};                                             \
        cuda_map(iter, in, to, [=](float x, float y) { return op##_f32 ARGS; });               \
    }                                                                                          \
    CUDA_ENTRY(op##_cuda)

#define CUDA_BINARY(op) CUDA_BINARY_WITH(op, no_attr, (x, y))
#define CUDA_BINARY_ATTR(op, attr_type) CUDA_BINARY_WITH(op, attr_type, (x, y, a))

#endif
