/* adafactor_range.c - the passes over one weight, part by part. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "adafactor_range.h"

#include "../../common/squares_sum.h"
#include "../optimizer.h"

enum { LANES = 16 };

static inline int64_t last_row(const adafactor_job *j, int64_t p)
{
    const int64_t rows = j->shape.batches * j->shape.rows, end = (p + 1) * j->shape.span;
    return end < rows ? end : rows;
}

/* In LANES sums, which are then added in order. */
static inline double row_squares(int64_t n, const float *restrict x, float factor)
{
    double lanes[LANES] = {0.0}, sum = 0.0;
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t some = n - i < LANES ? n - i : LANES;
        for (int64_t t = 0; t < some; t++)
            lanes[t] += squares_term(factor * x[i + t], 0.0f);
    }
    for (int t = 0; t < LANES; t++)
        sum += lanes[t];
    return sum;
}

void adafactor_rows(const adafactor_job *j, int64_t p)
{
    const int64_t cols = j->shape.cols, first = p * j->shape.span, end = last_row(j, p);
    const adafactor_step k = j->step;
    j->sums[2 * p] = squares_of(j->w + first * cols, NULL, (end - first) * cols);
    for (int64_t r = first; r < end && j->shape.factored; r++) {
        const double sum = row_squares(cols, j->g + r * cols, k.factor);
        j->row_var[r] = adafactor_average(j->row_var[r], sum / (double)cols, k);
    }
    for (int64_t i = first * cols; i < end * cols && !j->shape.factored; i++) {
        const float g = k.factor * j->g[i];
        j->row_var[i] = adafactor_average(j->row_var[i], (double)(g * g), k);
    }
}

void adafactor_cols(const adafactor_job *j, int64_t p)
{
    const int64_t rows = j->shape.rows, cols = j->shape.cols;
    const int64_t blocks = (cols + ADAFACTOR_COLUMNS - 1) / ADAFACTOR_COLUMNS;
    const int64_t b = p / blocks, at = p % blocks * ADAFACTOR_COLUMNS;
    const int64_t n = cols - at < ADAFACTOR_COLUMNS ? cols - at : ADAFACTOR_COLUMNS;
    const float factor = j->step.factor;
    double sums[ADAFACTOR_COLUMNS] = {0.0};
    for (int64_t r = 0; r < rows; r++) {
        const float *restrict g = j->g + (b * rows + r) * cols + at;
        for (int64_t t = 0; t < n; t++)
            sums[t] += squares_term(factor * g[t], 0.0f);
    }
    float *average = j->col_var + b * cols + at;
    for (int64_t t = 0; t < n; t++)
        average[t] = adafactor_average(average[t], sums[t] / (double)rows, j->step);
}

/* The direction of row `r`, of columns [at, at + n). */
static inline void adafactor_range_directions(const adafactor_job *j, int64_t r, int64_t at,
                                              int64_t n, float *restrict to)
{
    const int64_t cols = j->shape.cols, b = r / j->shape.rows;
    const float *restrict g = j->g + r * cols + at;
    const adafactor_step k = j->step;
    if (!j->shape.factored) {
        const float *restrict v = j->row_var + at;
        for (int64_t t = 0; t < n; t++)
            to[t] = adafactor_direction(g[t], v[t], k);
        return;
    }
    const float *restrict v = j->col_var + b * cols + at;
    const float scale = (float)((double)j->row_var[r] / j->means[b]);
    for (int64_t t = 0; t < n; t++)
        to[t] = adafactor_direction(g[t], scale * v[t], k);
}

void adafactor_look(const adafactor_job *j, int64_t p)
{
    const int64_t cols = j->shape.cols, end = last_row(j, p);
    float some[ADAFACTOR_COLUMNS];
    double lanes[ADAFACTOR_COLUMNS] = {0.0}, sum = 0.0;
    for (int64_t r = p * j->shape.span; r < end; r++)
        for (int64_t at = 0; at < cols; at += ADAFACTOR_COLUMNS) {
            const int64_t n = cols - at < ADAFACTOR_COLUMNS ? cols - at : ADAFACTOR_COLUMNS;
            adafactor_range_directions(j, r, at, n, some);
            for (int64_t t = 0; t < n; t++)
                lanes[t] += squares_term(some[t], 0.0f);
        }
    for (int t = 0; t < ADAFACTOR_COLUMNS; t++)
        sum += lanes[t];
    j->sums[2 * p + 1] = sum;
}

void adafactor_move(const adafactor_job *j, int64_t p)
{
    const int64_t cols = j->shape.cols, end = last_row(j, p);
    float some[ADAFACTOR_COLUMNS];
    for (int64_t r = p * j->shape.span; r < end; r++)
        for (int64_t at = 0; at < cols; at += ADAFACTOR_COLUMNS) {
            const int64_t n = cols - at < ADAFACTOR_COLUMNS ? cols - at : ADAFACTOR_COLUMNS;
            float *restrict w = j->w + r * cols + at;
            adafactor_range_directions(j, r, at, n, some);
            for (int64_t t = 0; t < n; t++)
                w[t] = j->step.shrink * w[t] - j->rate * some[t];
            if (j->low)
                optimizer_to_low(n, w, j->low + r * cols + at, j->low_dtype);
        }
}
