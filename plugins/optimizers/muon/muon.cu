/* muon.cu - the passes over one matrix on a GPU, in blocks of 256 threads; AdamW for other weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../common/squares_cuda.h"
#include "muon_step.h"
#include "tutti/optimizer.h"

enum { TILE = 32 };

#define MUON_RULE_ARGS                                                                         \
    const double *now, double weight_decay, double momentum, double eps, double scale,         \
        int32_t nesterov
#define MUON_BEGIN                                                                             \
    const muon_rule rule = {weight_decay, momentum, eps, scale, nesterov, 0};                  \
    const muon_step k = muon_at(rule, now[TUTTI_UPDATE_LR], now[TUTTI_UPDATE_FACTOR]);         \
    if (now[TUTTI_UPDATE_SKIP] != 0.0)                                                         \
    return

/* Where element i of the matrix lies in the direction. */
static inline __device__ int64_t transposed_place(int64_t rows, int64_t cols, int64_t i)
{
    return rows > cols ? i % cols * rows + i / cols : i;
}

TUTTI_KERNEL(muon_look_cuda)
(const float *g, float *buffer, float *x, double *sums, MUON_RULE_ARGS, int64_t rows,
 int64_t cols, int64_t threads)
{
    TUTTI_BLOCK(double, lanes, SQUARES_LANES);
    MUON_BEGIN;
    const int64_t n = rows * cols;
    for (int64_t p = blockIdx.x; p * SQUARES_PIECE < n; p += gridDim.x) {
        const int64_t end = (p + 1) * SQUARES_PIECE < n ? (p + 1) * SQUARES_PIECE : n;
        double sum = 0.0;
        for (int64_t i = p * SQUARES_PIECE + threadIdx.x; i < end; i += SQUARES_LANES) {
            const float d = muon_direction(g[i], &buffer[i], k);
            x[transposed_place(rows, cols, i)] = d;
            sum += squares_term(d, 0.0f);
        }
        sum = squares_pair(lanes, sum);
        if (threadIdx.x == 0)
            sums[p] = sum;
    }
}
TUTTI_KERNEL_ENTRY(muon_look_cuda);

TUTTI_KERNEL(muon_scale_cuda)
(float *x, const double *sums, MUON_RULE_ARGS, int64_t n, int64_t pieces)
{
    TUTTI_BLOCK(double, lanes, SQUARES_LANES);
    MUON_BEGIN;
    const float norm = muon_norm(squares_total(lanes, sums, pieces), k);
    TUTTI_EACH(i, n)
    {
        x[i] = muon_round(x[i] / norm);
    }
}
TUTTI_KERNEL_ENTRY(muon_scale_cuda);

/* A block makes a tile of 32 by 32, a thread 4 rows of one column of it; sums go along the inner dimension. */
TUTTI_KERNEL(muon_product_cuda)
(float *to, const float *a, const float *b, const float *add, const double *now, int64_t rows,
 int64_t cols, int64_t inner, float alpha, float beta, int32_t transposed, int64_t threads)
{
    TUTTI_BLOCK(float, left, TILE *TILE);
    TUTTI_BLOCK(float, right, TILE *TILE);
    const int64_t across = (cols + TILE - 1) / TILE, tiles = (rows + TILE - 1) / TILE * across;
    const int64_t c = threadIdx.x % TILE, r = threadIdx.x / TILE;
    if (now[TUTTI_UPDATE_SKIP] != 0.0)
        return;
    for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        const int64_t row = t / across * TILE, column = t % across * TILE;
        float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        for (int64_t from = 0; from < inner; from += TILE) {
            for (int i = 0; i < 4; i++) {
                const int64_t y = r + 8 * i;
                const int64_t ar = row + y, ak = from + c;
                left[y * TILE + c] = ar < rows && ak < inner ? a[ar * inner + ak] : 0.0f;
                const int64_t bk = transposed ? from + c : from + y;
                const int64_t bc = transposed ? column + y : column + c;
                const int there = bk < inner && bc < cols;
                const float v = !there       ? 0.0f
                                : transposed ? b[bc * inner + bk]
                                             : b[bk * cols + bc];
                right[transposed ? c * TILE + y : y * TILE + c] = v;
            }
            __syncthreads();
            for (int m = 0; m < TILE; m++)
                for (int i = 0; i < 4; i++)
                    sums[i] += left[(r + 8 * i) * TILE + m] * right[m * TILE + c];
            __syncthreads();
        }
        for (int i = 0; i < 4; i++) {
            const int64_t y = row + r + 8 * i, at = y * cols + column + c;
            const float sum = alpha * sums[i];
            if (y < rows && column + c < cols)
                to[at] = muon_round(add ? beta * add[at] + sum : sum);
        }
    }
}
TUTTI_KERNEL_ENTRY(muon_product_cuda);

TUTTI_KERNEL(muon_change_cuda)
(float *w, const float *x, uint16_t *low, MUON_RULE_ARGS, int32_t low_dtype, int64_t rows,
 int64_t cols, int64_t n)
{
    MUON_BEGIN;
    TUTTI_EACH(i, n)
    {
        const float next = muon_move(w[i], x[transposed_place(rows, cols, i)], k);
        w[i] = next;
        if (low)
            low[i] = tutti_to_half(next, low_dtype);
    }
}
TUTTI_KERNEL_ENTRY(muon_change_cuda);

TUTTI_KERNEL(muon_adamw_cuda)
(float *w, const float *g, float *m, float *v, uint16_t *low, const double *now, double beta1,
 double beta2, double eps, double weight_decay, double scale, int32_t low_dtype, int64_t n)
{
    TUTTI_BLOCK(adam_step, block, 1);
    const adam_rule r = {beta1, beta2, eps, weight_decay, 0.0, ADAM_DECAY_BY_RATE, 0};
    if (threadIdx.x == 0)
        *block = adam_at(r, now[TUTTI_UPDATE_LR] * scale, now[TUTTI_UPDATE_STEP],
                         now[TUTTI_UPDATE_FACTOR]);
    __syncthreads();
    const adam_step c = *block;
    if (now[TUTTI_UPDATE_SKIP] != 0.0)
        return;
    TUTTI_EACH(k, n)
    {
        adam_average(w[k], &m[k], &v[k], g[k], c);
        const float x = adam_move(w[k], m[k], v[k], c);
        w[k] = x;
        if (low)
            low[k] = tutti_to_half(x, low_dtype);
    }
}
TUTTI_KERNEL_ENTRY(muon_adamw_cuda);
