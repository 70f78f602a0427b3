/* ctc.cu - the loss and its gradient on the GPU: a block for each sample, a thread for each state. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/index.cuh"
#include "ctc/ctc_cuda.h"

enum { LANES = 32 };

/* One sample, as all threads of its block see it. */
struct ctc_block {
    double *a, *log_sum, *b, *posterior; /* as in ctc_workspace */
    int64_t first;                       /* of its logits */
    int64_t target;                      /* where its classes begin */
    int64_t n;                           /* states; 0: its target or length is out of range */
    int64_t steps;
};

/* The classes that a target has; -1 as on the CPU.  Each thread reads all. */
__device__ static int64_t target_length(const ctc_cuda_args &a, int64_t begin)
{
    int64_t n = 0;
    for (int64_t k = 0; k < a.s.longest; k++) {
        const int64_t y = cuda_index_at(a.target, begin + k);
        if (y < 0)
            continue;
        if (y >= a.s.classes || y == a.s.blank || n < k)
            return -1;
        n = k + 1;
    }
    return n;
}

__device__ static ctc_block block_of(const ctc_cuda_args &a, int64_t b)
{
    ctc_block x;
    x.first = b * a.s.steps * a.s.classes;
    x.target = b * a.s.longest;
    x.steps = a.lengths.data ? cuda_index_at(a.lengths, b) : a.s.steps;
    const int64_t length = target_length(a, x.target);
    const bool good = length >= 0 && x.steps >= 0 && x.steps <= a.s.steps;
    x.n = good ? ctc_states(length) : 0;
    x.a = a.workspace + b * ctc_workspace(&a.s);
    x.log_sum = x.a + a.s.steps * x.n;
    x.b = x.log_sum + a.s.steps;
    x.posterior = x.b + 2 * x.n;
    if (!good && threadIdx.x == 0)
        *a.fault = a.mark;
    return x;
}

__device__ static int64_t class_of(const ctc_cuda_args &a, const ctc_block &x, int64_t i)
{
    return i % 2 ? cuda_index_at(a.target, x.target + i / 2) : a.s.blank;
}

__device__ static bool skips(const ctc_cuda_args &a, const ctc_block &x, int64_t i)
{
    return i % 2 && i > 1 && class_of(a, x, i) != class_of(a, x, i - 2);
}

__device__ static double log_p(const ctc_cuda_args &a, const ctc_block &x, int64_t t, int64_t i)
{
    return (double)cuda_get(a.logits, x.first + t * a.s.classes + class_of(a, x, i)) -
           x.log_sum[t];
}

/* The log-sums of all steps, a warp for each. */
__device__ static void sum_steps(const ctc_cuda_args &a, const ctc_block &x)
{
    const int lane = (int)threadIdx.x % LANES;
    for (int64_t t = threadIdx.x / LANES; t < x.steps; t += blockDim.x / LANES) {
        const int64_t row = x.first + t * a.s.classes;
        float most = -INFINITY, sum = 0.0f;
        for (int64_t k = lane; k < a.s.classes; k += LANES)
            most = fmaxf(most, cuda_get(a.logits, row + k));
        most = cuda_warp_max(most);
        for (int64_t k = lane; k < a.s.classes; k += LANES)
            sum += expf(cuda_get(a.logits, row + k) - most);
        sum = cuda_warp_sum(sum);
        if (lane == 0)
            x.log_sum[t] = (double)most + log((double)sum);
    }
    __syncthreads();
}

/* Fills a; every thread gets the loss. */
__device__ static double forward(const ctc_cuda_args &a, const ctc_block &x)
{
    sum_steps(a, x);
    for (int64_t t = 0; t < x.steps; t++) {
        double *row = x.a + t * x.n;
        for (int64_t i = threadIdx.x; i < x.n; i += blockDim.x) {
            const double before = t > 0   ? ctc_reach(row - x.n, i, x.n, 1, skips(a, x, i))
                                  : i < 2 ? 0.0
                                          : -INFINITY;
            row[i] = before + log_p(a, x, t, i);
        }
        __syncthreads();
    }
    if (x.steps == 0)
        return x.n == 1 ? 0.0 : INFINITY;
    return ctc_loss_of(x.a + (x.steps - 1) * x.n, x.n);
}

CUDA_KERNEL(ctc_cuda)(ctc_cuda_args a)
{
    for (int64_t b = blockIdx.x; b < a.s.batch; b += gridDim.x) {
        const ctc_block x = block_of(a, b);
        const double loss = x.n ? forward(a, x) : 0.0;
        if (threadIdx.x == 0)
            cuda_set(a.out, b, a.s.zero_infinity && loss == INFINITY ? 0.0f : (float)loss);
    }
}
CUDA_ENTRY(ctc_cuda);

/* The row of b at step t and the posteriors of its states. */
__device__ static void backward(const ctc_cuda_args &a, const ctc_block &x, int64_t t,
                                double loss)
{
    const double *behind = x.b + (t + 1) % 2 * x.n;
    double *row = x.b + t % 2 * x.n;
    for (int64_t i = threadIdx.x; i < x.n; i += blockDim.x) {
        const double later =
            t + 1 < x.steps ? ctc_reach(behind, i, x.n, -1, i + 2 < x.n && skips(a, x, i + 2))
            : i + 2 >= x.n  ? 0.0
                            : -INFINITY;
        const double p = log_p(a, x, t, i);
        row[i] = later + p;
        x.posterior[i] = ctc_posterior(x.a[t * x.n + i], row[i], p, loss);
    }
    __syncthreads();
}

/* The posteriors of all states of state i's class, if i is the first of them; else -1. */
__device__ static double class_posterior(const ctc_cuda_args &a, const ctc_block &x, int64_t i)
{
    const int64_t mine = class_of(a, x, i);
    double sum = 0.0;
    for (int64_t j = i % 2; j < x.n; j += 2) {
        if (class_of(a, x, j) != mine)
            continue;
        if (j < i)
            return -1.0;
        sum += x.posterior[j];
    }
    return sum;
}

CUDA_KERNEL(ctc_grad_cuda)(ctc_cuda_args a)
{
    for (int64_t b = blockIdx.x; b < a.s.batch; b += gridDim.x) {
        const ctc_block x = block_of(a, b);
        const double loss = x.n ? forward(a, x) : INFINITY;
        const bool none = x.n == 0 || (a.s.zero_infinity && loss == INFINITY);
        const double d = (double)cuda_get(a.dloss, b);
        for (int64_t t = a.s.steps - 1; t >= 0; t--) {
            const int64_t row = x.first + t * a.s.classes;
            const bool counts = t < x.steps && !none;
            if (counts)
                backward(a, x, t, loss);
            for (int64_t k = threadIdx.x; k < a.s.classes; k += blockDim.x) {
                const double z = (double)cuda_get(a.logits, row + k);
                cuda_set(a.out, row + k, counts ? (float)(d * exp(z - x.log_sum[t])) : 0.0f);
            }
            __syncthreads();
            for (int64_t i = threadIdx.x; counts && i < x.n; i += blockDim.x) {
                const int64_t k = row + class_of(a, x, i);
                const double posterior = class_posterior(a, x, i);
                const double z = (double)cuda_get(a.logits, k);
                if (!(posterior < 0.0))
                    cuda_set(a.out, k, (float)(d * (exp(z - x.log_sum[t]) - posterior)));
            }
            __syncthreads();
        }
    }
}
CUDA_ENTRY(ctc_grad_cuda);
