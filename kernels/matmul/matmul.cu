/* matmul.cu - products of any shape and dtypes; what runs where cuBLASLt does not. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/convert.cuh"
#include "common/cuda/gemm.cuh"
#include "common/cuda/reduce.cuh"
#include "matmul/matmul_cuda.h"
#include "matmul/matmul_epilogue.h"

namespace
{

/* Element (r, k) of matrix p's rows (of a) or columns (of b). */
struct factor {
    cuda_tensor t;
    const matmul_cuda_shape *s;
    const int64_t *batch_dims; /* strides of the batch dimensions, in matrices */
    int64_t size, along_r, k_step;
    bool along_k;

    __device__ float at(int64_t p, int64_t r, int64_t k) const
    {
        int64_t matrix = 0;
        for (int64_t d = s->rank - 1; d >= 0; d--) {
            matrix += p % s->dim[d] * batch_dims[d];
            p /= s->dim[d];
        }
        return cuda_get(t, matrix * size + r * along_r + k * k_step);
    }
};

struct result {
    cuda_tensor y, bias, added;
    int64_t m, n;

    __device__ void put(int64_t p, int64_t, int64_t i, int64_t j, float sum) const
    {
        const int64_t at = (p * m + i) * n + j;
        const float shift = bias.data ? cuda_get(bias, j) : 0.0f;
        const float there = added.data ? cuda_get(added, at) : 0.0f;
        cuda_set(y, at, sum + shift + there);
    }
};

} // namespace

/* y = a b + bias + added; data of the last two may be NULL, and `added` may be y. */
CUDA_KERNEL(matmul_cuda)
(cuda_tensor a, cuda_tensor b, cuda_tensor bias, cuda_tensor added, cuda_tensor y,
 matmul_cuda_shape s)
{
    CUDA_SHARED(float, as, PRODUCT_TILE);
    CUDA_SHARED(float, bs, PRODUCT_TILE);
    const gemm_size size = {s.count, s.m, s.n, s.k, 1, s.k};
    const factor fa = {a, &s, s.sa, s.m * s.k, s.a_row, s.a_col, s.a_col == 1};
    const factor fb = {b, &s, s.sb, s.k * s.n, s.b_col, s.b_row, s.b_row == 1};
    const result r = {y, bias, added, s.m, s.n};
    gemm_tiles(size, fa, fb, r, as, bs);
}
CUDA_ENTRY(matmul_cuda);

/* y = act(z), or z act'(x) where x.data is not NULL. */
CUDA_KERNEL(matmul_epilogue_cuda)
(cuda_tensor preactivation, cuda_tensor x, cuda_tensor y, int64_t n, int64_t act)
{
    CUDA_EACH(k, n)
    {
        const float z = cuda_get(preactivation, k);
        cuda_set(y, k,
                 x.data ? matmul_act_grad_f32(z, cuda_get(x, k), act) : matmul_act_f32(z, act));
    }
}
CUDA_ENTRY(matmul_epilogue_cuda);

/* y = ReLU(y), and a bit for each that is positive, `bytes` to a row of n. */
CUDA_KERNEL(matmul_relu_mask_cuda)
(cuda_tensor y, unsigned char *mask, int64_t rows, int64_t n, int64_t bytes)
{
    CUDA_EACH(k, rows * bytes)
    {
        const int64_t first = k % bytes * 8, at = k / bytes * n + first;
        unsigned bits = 0;
        for (int64_t j = 0; j < 8 && first + j < n; j++) {
            const float z = cuda_get(y, at + j);
            bits |= (unsigned)(z > 0.0f) << j;
            cuda_set(y, at + j, matmul_act_f32(z, 1));
        }
        mask[k] = (unsigned char)bits;
    }
}
CUDA_ENTRY(matmul_relu_mask_cuda);

/* y becomes 0 where its bit is not set. */
CUDA_KERNEL(matmul_relu_unmask_cuda)
(cuda_tensor y, const unsigned char *mask, int64_t rows, int64_t n, int64_t bytes)
{
    CUDA_EACH(k, rows * n)
    {
        const int64_t j = k % n;
        if (!(mask[k / n * bytes + j / 8] >> (j % 8) & 1))
            cuda_set(y, k, 0.0f);
    }
}
CUDA_ENTRY(matmul_relu_unmask_cuda);

CUDA_REDUCE(matmul_bias_grad, cuda_sum);

CUDA_CONVERT(matmul);
