/* batch_norm.cu - batch norm on the GPU: sums, then a number a channel, then one more pass over the rows. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/columns.cuh"

#include "batch_norm/batch_norm_cuda.h"

/* (x - mean) scale + shift, fused alike in both directions, so that both see the same sign. */
__device__ static inline float line_at(float x, float mean, float scale, float shift)
{
    return fmaf(x - mean, scale, shift);
}

/* What both gradients take as dy. */
__device__ static inline float masked(int64_t act, float dy, float u)
{
    return act && !(u > 0.0f) ? 0.0f : dy;
}

/* A kernel for V channels a thread, x and all like it in dtype D (below 0: each as it comes), takes U
 * rows at a time.  ACT, MORE: below 0 is what the arguments say. */

template <int V, int D> struct two_rows {
    cuda_packed<V, D> x, other;
};

template <int V>
__device__ static inline void load_scale(const float *from, int64_t k, float (&to)[V])
{
    cuda_load({const_cast<float *>(from), TUTTI_F32, 0}, k, to);
}

/* Sums of x - s and its square, where s is the first row: a mean far from zero does not drown the
 * variance. */
template <int V, int D, int U>
__device__ static inline void sums(const batch_norm_cuda_args &a, float *shared)
{
    const cuda_place p = cuda_place_of<V>(a.sums);
    float shift[V] = {}, sum[V] = {}, square[V] = {};
    if (p.rows)
        cuda_load(cuda_typed<D>(a.x), p.k, shift);
    cuda_each_row<U>(
        cuda_rows_forward(a.sums, p),
        [&](int64_t k) {
            cuda_packed<V, D> x;
            x.load(a.x, k);
            return x;
        },
        [&](int64_t, const cuda_packed<V, D> &x) {
            for (int i = 0; i < V; i++) {
                const float d = x.at(i) - shift[i];
                sum[i] += d;
                square[i] = fmaf(d, d, square[i]);
            }
        });
    cuda_column_join<V>(a.sums, p, sum, square, a.partials, shared);
}

/* y = act(line of x + residual); may lie where x or the residual lay.  The last rows come first: the
 * cache has them from the sums. */
template <int V, int D, int U, int MORE>
__device__ static inline void apply(const batch_norm_cuda_args &a)
{
    const cuda_place p = cuda_place_of<V>(a.apply);
    const cuda_tensor to = cuda_typed<D>(a.y);
    const bool add = MORE < 0 ? a.residual.data != nullptr : MORE != 0;
    if (p.rows == 0)
        return;
    float mean[V], scale[V], shift[V];
    cuda_load(a.mean, p.k, mean);
    cuda_load(a.beta, p.k, shift);
    load_scale(a.scale, p.k, scale);
    cuda_each_row<U>(
        cuda_rows_backward(a.apply, p),
        [&](int64_t k) {
            two_rows<V, D> at = {};
            at.x.load(a.x, k);
            if (add)
                at.other.load(a.residual, k);
            return at;
        },
        [&](int64_t k, const two_rows<V, D> &at) {
            float y[V];
            for (int i = 0; i < V; i++) {
                const float u =
                    line_at(at.x.at(i), mean[i], scale[i], shift[i]) + at.other.at(i);
                y[i] = a.act && u < 0.0f ? 0.0f : u;
            }
            cuda_store(to, k, y);
        });
}

/* x and dy of a row. */
template <int V, int D>
__device__ static inline two_rows<V, D> load_both(const batch_norm_cuda_args &a, int64_t at)
{
    two_rows<V, D> both;
    both.x.load(a.x, at);
    both.other.load(a.dy, at);
    return both;
}

/* Sums of dy and dy (x - mean). */
template <int V, int D, int U, int ACT>
__device__ static inline void grad_sums(const batch_norm_cuda_args &a, float *shared)
{
    const cuda_place p = cuda_place_of<V>(a.sums);
    const int64_t act = ACT < 0 ? a.act : ACT;
    float mean[V] = {}, scale[V] = {}, shift[V] = {}, sum[V] = {}, product[V] = {};
    if (p.rows)
        cuda_load(a.mean, p.k, mean);
    if (p.rows && act) {
        float gamma[V];
        cuda_load(a.invstd, p.k, scale);
        cuda_load(a.gamma, p.k, gamma);
        cuda_load(a.beta, p.k, shift);
        for (int i = 0; i < V; i++)
            scale[i] *= gamma[i];
    }
    cuda_each_row<U>(
        cuda_rows_forward(a.sums, p), [&](int64_t k) { return load_both<V, D>(a, k); },
        [&](int64_t, const two_rows<V, D> &at) {
            for (int i = 0; i < V; i++) {
                const float u = line_at(at.x.at(i), mean[i], scale[i], shift[i]);
                const float d = masked(act, at.other.at(i), u);
                sum[i] += d;
                product[i] = fmaf(d, at.x.at(i) - mean[i], product[i]);
            }
        });
    cuda_column_join<V>(a.sums, p, sum, product, a.partials, shared);
}

/* dx = dy a + (x - mean) b + rest; may lie where x or dy lay.  a, which is invstd gamma, has the bits of
 * the line's scale.  The last rows come first, as above. */
template <int V, int D, int U, int ACT>
__device__ static inline void grad_apply(const batch_norm_cuda_args &a)
{
    const cuda_place p = cuda_place_of<V>(a.apply);
    const cuda_tensor to = cuda_typed<D>(a.y);
    const int64_t act = ACT < 0 ? a.act : ACT, n = a.apply.columns;
    if (p.rows == 0)
        return;
    float mean[V], shift[V] = {}, by_dy[V], by_x[V], rest[V];
    cuda_load(a.mean, p.k, mean);
    if (act)
        cuda_load(a.beta, p.k, shift);
    load_scale(a.scale, p.k, by_dy);
    load_scale(a.scale + n, p.k, by_x);
    load_scale(a.scale + 2 * n, p.k, rest);
    cuda_each_row<U>(
        cuda_rows_backward(a.apply, p), [&](int64_t k) { return load_both<V, D>(a, k); },
        [&](int64_t k, const two_rows<V, D> &at) {
            float dx[V];
            for (int i = 0; i < V; i++) {
                const float u = line_at(at.x.at(i), mean[i], by_dy[i], shift[i]);
                const float d = masked(act, at.other.at(i), u);
                dx[i] = d * by_dy[i] + (at.x.at(i) - mean[i]) * by_x[i] + rest[i];
            }
            cuda_store(to, k, dx);
        });
}

/* As many threads as a multiprocessor is to hold leave this many registers for each. */
#define COLUMNS_KERNEL(name, blocks)                                                           \
    CUDA_KERNEL(__launch_bounds__(CUDA_COLUMNS_BLOCK, blocks) name)(batch_norm_cuda_args a)

#define SUMS(name, V, blocks, f)                                                               \
    COLUMNS_KERNEL(name, blocks)                                                               \
    {                                                                                          \
        CUDA_SHARED(float, shared, CUDA_COLUMNS_BLOCK * 2 * V);                                \
        f(a, shared);                                                                          \
    }                                                                                          \
    CUDA_ENTRY(name)

#define APPLY(name, blocks, f)                                                                 \
    COLUMNS_KERNEL(name, blocks)                                                               \
    {                                                                                          \
        f(a);                                                                                  \
    }                                                                                          \
    CUDA_ENTRY(name)

SUMS(batch_norm_sums_1, 1, BATCH_NORM_BLOCKS, (sums<1, -1, 2>));
SUMS(batch_norm_sums_8, 8, BATCH_NORM_BLOCKS, (sums<8, -1, 1>));
SUMS(batch_norm_sums_8_bf16, 8, BATCH_NORM_BLOCKS_BF16, (sums<8, TUTTI_BF16, 4>));
APPLY(batch_norm_apply_1, BATCH_NORM_BLOCKS, (apply<1, -1, 2, -1>));
APPLY(batch_norm_apply_8, BATCH_NORM_BLOCKS, (apply<8, -1, 1, -1>));
APPLY(batch_norm_apply_8_bf16, BATCH_NORM_BLOCKS_BF16, (apply<8, TUTTI_BF16, 4, 0>));
APPLY(batch_norm_apply_8_bf16_add, BATCH_NORM_BLOCKS_BF16, (apply<8, TUTTI_BF16, 2, 1>));
SUMS(batch_norm_grad_sums_1, 1, BATCH_NORM_BLOCKS, (grad_sums<1, -1, 2, -1>));
SUMS(batch_norm_grad_sums_8, 8, BATCH_NORM_BLOCKS, (grad_sums<8, -1, 1, -1>));
SUMS(batch_norm_grad_sums_8_bf16, 8, BATCH_NORM_BLOCKS_BF16, (grad_sums<8, TUTTI_BF16, 2, 0>));
SUMS(batch_norm_grad_sums_8_bf16_act, 8, BATCH_NORM_BLOCKS, (grad_sums<8, TUTTI_BF16, 2, 1>));
APPLY(batch_norm_grad_apply_1, BATCH_NORM_BLOCKS, (grad_apply<1, -1, 2, -1>));
APPLY(batch_norm_grad_apply_8, BATCH_NORM_BLOCKS, (grad_apply<8, -1, 1, -1>));
APPLY(batch_norm_grad_apply_8_bf16, BATCH_NORM_BLOCKS_BF16, (grad_apply<8, TUTTI_BF16, 2, 0>));
APPLY(batch_norm_grad_apply_8_bf16_act, BATCH_NORM_BLOCKS, (grad_apply<8, TUTTI_BF16, 2, 1>));

/* Statistics, and the scale that comes of them.  What the gradient will read counts, rounded as it is stored. */
__device__ static inline void set_statistics(const batch_norm_cuda_args &a, int64_t k,
                                             double mean, double raw, double momentum,
                                             double unbiased)
{
    const double var = raw < 0.0 ? 0.0 : raw, kept = 1.0 - momentum;
    const double m = (double)cuda_get(a.old_mean, k), v = (double)cuda_get(a.old_var, k);
    cuda_set(a.mean, k, (float)mean);
    cuda_set(a.invstd, k, (float)(1.0 / sqrt(var + a.eps)));
    a.scale[k] = cuda_get(a.invstd, k) * cuda_get(a.gamma, k);
    cuda_set(a.new_mean, k, (float)(kept * m + momentum * mean));
    cuda_set(a.new_var, k, (float)(kept * v + momentum * var * unbiased));
}

/* dgamma and dbeta of these rows. */
__device__ static inline void set_gradients(const batch_norm_cuda_args &a, int64_t k,
                                            double sum, double product)
{
    cuda_set(a.dgamma, k, (float)(product * (double)cuda_get(a.invstd, k)));
    cuda_set(a.dbeta, k, (float)sum);
}

/* Factors of dx: `each` is 1 / N for sums over N rows. */
__device__ static inline void set_factors(const batch_norm_cuda_args &a, int64_t k, double sum,
                                          double product, double each)
{
    const int64_t n = a.apply.columns;
    const double invstd = (double)cuda_get(a.invstd, k);
    const double by_dy = (double)cuda_get(a.gamma, k) * invstd;
    a.scale[k] = (float)by_dy;
    a.scale[n + k] = (float)(-by_dy * invstd * invstd * product * each);
    a.scale[2 * n + k] = (float)(-by_dy * sum * each);
}

CUDA_KERNEL(batch_norm_finish)(batch_norm_cuda_args a)
{
    CUDA_SHARED(double, shared, 512);
    const double count = a.sums.rows ? (double)a.sums.rows : 1.0;
    cuda_column_finish(a.sums.columns, a.sums.rows ? a.sums.parts : 0, a.partials, shared,
                       [&](int64_t k, double sum, double square) {
                           const double shift = a.sums.rows ? (double)cuda_get(a.x, k) : 0.0;
                           const double off = sum / count;
                           set_statistics(a, k, shift + off, square / count - off * off,
                                          a.momentum, a.unbiased);
                       });
}
CUDA_ENTRY(batch_norm_finish);

CUDA_KERNEL(batch_norm_grad_finish)(batch_norm_cuda_args a)
{
    CUDA_SHARED(double, shared, 512);
    const double each = a.sums.rows ? 1.0 / (double)a.sums.rows : 0.0;
    cuda_column_finish(a.sums.columns, a.sums.rows ? a.sums.parts : 0, a.partials, shared,
                       [&](int64_t k, double sum, double product) {
                           set_gradients(a, k, sum, product);
                           set_factors(a, k, sum, product, each);
                       });
}
CUDA_ENTRY(batch_norm_grad_finish);

/* ---- over all slots of a batch, whose totals others add up ---- */

__device__ static inline void set_total_rows(const batch_norm_cuda_args &a)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        a.totals[2 * a.sums.columns] = (double)a.sums.rows;
}

/* Sums of x and x^2 out of those less the first row, in f64: other slots have other first rows. */
CUDA_KERNEL(batch_norm_totals_finish)(batch_norm_cuda_args a)
{
    CUDA_SHARED(double, shared, 512);
    const double count = (double)a.sums.rows;
    set_total_rows(a);
    cuda_column_finish(a.sums.columns, a.sums.rows ? a.sums.parts : 0, a.partials, shared,
                       [&](int64_t k, double sum, double square) {
                           const double shift = a.sums.rows ? (double)cuda_get(a.x, k) : 0.0;
                           a.totals[k] = sum + count * shift;
                           a.totals[a.sums.columns + k] =
                               square + shift * (2.0 * sum + count * shift);
                       });
}
CUDA_ENTRY(batch_norm_totals_finish);

CUDA_KERNEL(batch_norm_across_totals_finish)(batch_norm_cuda_args a)
{
    CUDA_SHARED(double, shared, 512);
    set_total_rows(a);
    cuda_column_finish(a.sums.columns, a.sums.rows ? a.sums.parts : 0, a.partials, shared,
                       [&](int64_t k, double sum, double product) {
                           set_gradients(a, k, sum, product);
                           a.totals[k] = sum;
                           a.totals[a.sums.columns + k] = product;
                       });
}
CUDA_ENTRY(batch_norm_across_totals_finish);

CUDA_KERNEL(batch_norm_across_finish)(batch_norm_cuda_args a)
{
    const int64_t n = a.apply.columns;
    const double rows = a.totals[2 * n], count = rows > 0.0 ? rows : 1.0;
    CUDA_EACH(k, n)
    {
        const double mean = a.totals[k] / count;
        set_statistics(a, k, mean, a.totals[n + k] / count - mean * mean,
                       rows > 0.0 ? a.momentum : 0.0, rows > 1.0 ? rows / (rows - 1.0) : 1.0);
    }
}
CUDA_ENTRY(batch_norm_across_finish);

CUDA_KERNEL(batch_norm_across_grad_finish)(batch_norm_cuda_args a)
{
    const int64_t n = a.apply.columns;
    const double rows = a.totals[2 * n], each = rows > 0.0 ? 1.0 / rows : 0.0;
    CUDA_EACH(k, n)
    {
        set_factors(a, k, a.totals[k], a.totals[n + k], each);
    }
}
CUDA_ENTRY(batch_norm_across_grad_finish);

/* scale = gamma (var + eps)^-1/2 of given statistics */
CUDA_KERNEL(batch_norm_scale)(batch_norm_cuda_args a)
{
    CUDA_EACH(k, a.apply.columns)
    {
        const double var = (double)cuda_get(a.old_var, k);
        a.scale[k] = (float)((double)cuda_get(a.gamma, k) / sqrt(var + a.eps));
    }
}
CUDA_ENTRY(batch_norm_scale);

/* The same out of what training left. */
CUDA_KERNEL(batch_norm_scale_saved)(batch_norm_cuda_args a)
{
    CUDA_EACH(k, a.apply.columns)
    {
        a.scale[k] = cuda_get(a.invstd, k) * cuda_get(a.gamma, k);
    }
}
CUDA_ENTRY(batch_norm_scale_saved);
