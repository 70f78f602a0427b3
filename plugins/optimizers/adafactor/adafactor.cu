/* adafactor.cu - the passes over one weight on a GPU, in blocks of 256 threads. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../common/squares_cuda.h"
#include "adafactor_step.h"
#include "tutti/half.h"
#include "tutti/optimizer.h"

/* Rows up to this long are one thread's each. */
enum { ADAFACTOR_SHORT = 64, ADAFACTOR_TILE = 32 };

#define ADAFACTOR_CUDA_ARGS                                                                    \
    (float *w, const float *g, float *row_var, float *col_var, double *work, uint16_t *low,    \
     const double *now, double beta2_decay, double eps1, double eps2, double d,                \
     double weight_decay, int32_t low_dtype, int32_t factored, int64_t batches, int64_t rows,  \
     int64_t cols, int64_t span, int64_t parts, int64_t threads)

/* The beginning of each of these kernels: `k`, the update's coefficients. */
#define ADAFACTOR_BEGIN                                                                        \
    TUTTI_BLOCK(adafactor_step, block, 1);                                                     \
    if (threadIdx.x == 0) {                                                                    \
        const adafactor_rule rule = {beta2_decay, eps1, eps2, d, weight_decay};                \
        *block = adafactor_at(rule, now[TUTTI_UPDATE_LR], now[TUTTI_UPDATE_STEP],              \
                              now[TUTTI_UPDATE_FACTOR]);                                       \
    }                                                                                          \
    __syncthreads();                                                                           \
    const adafactor_step k = *block;                                                           \
    if (now[TUTTI_UPDATE_SKIP] != 0.0)                                                         \
    return

static inline __device__ double row_squares(const float *x, int64_t n, int64_t from,
                                            int64_t stride, float factor)
{
    double sum = 0.0;
    for (int64_t c = from; c < n; c += stride)
        sum += squares_term(factor * x[c], 0.0f);
    return sum;
}

TUTTI_KERNEL(adafactor_rows_cuda) ADAFACTOR_CUDA_ARGS
{
    TUTTI_BLOCK(double, lanes, SQUARES_LANES);
    ADAFACTOR_BEGIN;
    for (int64_t p = blockIdx.x; p < parts; p += gridDim.x) {
        const int64_t first = p * span, all = batches * rows;
        const int64_t end = first + span < all ? first + span : all;
        const double of_w = squares_of(lanes, w + first * cols, nullptr, (end - first) * cols);
        if (threadIdx.x == 0)
            work[2 * p] = of_w;
        if (!factored) {
            for (int64_t i = first * cols + threadIdx.x; i < end * cols; i += SQUARES_LANES) {
                const float x = k.factor * g[i];
                row_var[i] = adafactor_average(row_var[i], (double)(x * x), k);
            }
        } else if (cols <= ADAFACTOR_SHORT) {
            for (int64_t r = first + threadIdx.x; r < end; r += SQUARES_LANES) {
                const double sum = row_squares(g + r * cols, cols, 0, 1, k.factor);
                row_var[r] = adafactor_average(row_var[r], sum / (double)cols, k);
            }
        } else {
            for (int64_t r = first; r < end; r++) {
                const double sum =
                    squares_pair(lanes, row_squares(g + r * cols, cols, threadIdx.x,
                                                    SQUARES_LANES, k.factor));
                if (threadIdx.x == 0)
                    row_var[r] = adafactor_average(row_var[r], sum / (double)cols, k);
            }
        }
    }
}
TUTTI_KERNEL_ENTRY(adafactor_rows_cuda);

/* A block has 32 columns and 8 rows at a time. */
TUTTI_KERNEL(adafactor_cols_cuda) ADAFACTOR_CUDA_ARGS
{
    TUTTI_BLOCK(double, lanes, SQUARES_LANES);
    ADAFACTOR_BEGIN;
    const int64_t tiles = (cols + ADAFACTOR_TILE - 1) / ADAFACTOR_TILE;
    const int64_t column = threadIdx.x % ADAFACTOR_TILE, row = threadIdx.x / ADAFACTOR_TILE;
    for (int64_t t = blockIdx.x; t < batches * tiles; t += gridDim.x) {
        const int64_t b = t / tiles, c = t % tiles * ADAFACTOR_TILE + column;
        double sum = 0.0;
        for (int64_t r = row; r < rows && c < cols; r += SQUARES_LANES / ADAFACTOR_TILE)
            sum += squares_term(k.factor * g[(b * rows + r) * cols + c], 0.0f);
        lanes[threadIdx.x] = sum;
        __syncthreads();
        for (int64_t r = 1; r < SQUARES_LANES / ADAFACTOR_TILE && row == 0; r++)
            sum += lanes[r * ADAFACTOR_TILE + column];
        if (row == 0 && c < cols)
            col_var[b * cols + c] =
                adafactor_average(col_var[b * cols + c], sum / (double)rows, k);
        __syncthreads();
    }
}
TUTTI_KERNEL_ENTRY(adafactor_cols_cuda);

TUTTI_KERNEL(adafactor_means_cuda) ADAFACTOR_CUDA_ARGS
{
    TUTTI_BLOCK(double, lanes, SQUARES_LANES);
    ADAFACTOR_BEGIN;
    for (int64_t b = blockIdx.x; b < batches; b += gridDim.x) {
        double sum = 0.0;
        for (int64_t r = threadIdx.x; r < rows; r += SQUARES_LANES)
            sum += (double)row_var[b * rows + r];
        sum = squares_pair(lanes, sum);
        if (threadIdx.x == 0)
            work[2 * parts + b] = adafactor_mean(sum, rows, k);
    }
}
TUTTI_KERNEL_ENTRY(adafactor_means_cuda);

/* The direction of element i. */
static inline __device__ float direction(const float *g, const float *row_var,
                                         const float *col_var, const double *means,
                                         int32_t factored, int64_t rows, int64_t cols,
                                         int64_t i, adafactor_step k)
{
    if (!factored)
        return adafactor_direction(g[i], row_var[i], k);
    const int64_t r = i / cols, b = r / rows;
    const float scale = (float)((double)row_var[r] / means[b]);
    return adafactor_direction(g[i], scale * col_var[b * cols + i % cols], k);
}

TUTTI_KERNEL(adafactor_look_cuda) ADAFACTOR_CUDA_ARGS
{
    TUTTI_BLOCK(double, lanes, SQUARES_LANES);
    ADAFACTOR_BEGIN;
    for (int64_t p = blockIdx.x; p < parts; p += gridDim.x) {
        const int64_t all = batches * rows;
        const int64_t end = ((p + 1) * span < all ? (p + 1) * span : all) * cols;
        double sum = 0.0;
        for (int64_t i = p * span * cols + threadIdx.x; i < end; i += SQUARES_LANES)
            sum += squares_term(
                direction(g, row_var, col_var, work + 2 * parts, factored, rows, cols, i, k),
                0.0f);
        sum = squares_pair(lanes, sum);
        if (threadIdx.x == 0)
            work[2 * p + 1] = sum;
    }
}
TUTTI_KERNEL_ENTRY(adafactor_look_cuda);

TUTTI_KERNEL(adafactor_move_cuda) ADAFACTOR_CUDA_ARGS
{
    TUTTI_BLOCK(double, lanes, SQUARES_LANES);
    ADAFACTOR_BEGIN;
    const int64_t n = batches * rows * cols;
    double of_w = 0.0, of_step = 0.0;
    for (int64_t p = threadIdx.x; p < parts; p += SQUARES_LANES) {
        of_w += work[2 * p];
        of_step += work[2 * p + 1];
    }
    of_w = squares_pair(lanes, of_w);
    of_step = squares_pair(lanes, of_step);
    const float rate = adafactor_rate(of_w, of_step, n, k);
    TUTTI_EACH(i, n)
    {
        const float x =
            k.shrink * w[i] -
            rate * direction(g, row_var, col_var, work + 2 * parts, factored, rows, cols, i, k);
        w[i] = x;
        if (low)
            low[i] = tutti_to_half(x, low_dtype);
    }
}
TUTTI_KERNEL_ENTRY(adafactor_move_cuda);
