/* sdpa_cached_cpu.c - attention to a cache on a CPU: each query of each head reads its keys and values once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa_cached/sdpa_cached_cpu.h"
#include "common/simd.h"

#include <math.h>

/* The tail behind the last whole vector goes number by number. */
static float product(const float *x, const float *y, int64_t n)
{
    f32x16 sums = {0};
    int64_t k = 0;
    for (; k + SIMD_LANES <= n; k += SIMD_LANES)
        sums += *(const f32x16 *)(x + k) * *(const f32x16 *)(y + k);
    double sum = simd_sum(&sums);
    for (; k < n; k++)
        sum += (double)x[k] * (double)y[k];
    return (float)sum;
}

/* y += p v */
static void add_scaled(float *y, const float *v, float p, int64_t n)
{
    int64_t k = 0;
    for (; k + SIMD_LANES <= n; k += SIMD_LANES)
        *(f32x16 *)(y + k) += p * *(const f32x16 *)(v + k);
    for (; k < n; k++)
        y[k] += p * v[k];
}

/* Query r, which sees `seen` keys. */
static void attend(const sdpa_cached_shape *s, const sdpa_cached_tensors *t, int64_t r,
                   int64_t seen, float *scores)
{
    const int64_t row = s->groups * s->d, keys = sdpa_cached_keys(s, r);
    const float *q = t->q + r * s->d, *k = t->k + keys, *v = t->v + keys;
    const float *bias = t->bias ? t->bias + sdpa_cached_bias(s, r) : NULL;
    float *y = t->y + r * s->d, max = -INFINITY;
    double sum = 0.0;
    for (int64_t j = 0; j < seen; j++) {
        scores[j] = s->scale * product(q, k + j * row, s->d);
        scores[j] += bias ? bias[j * s->bias[3]] : 0.0f;
        max = scores[j] > max ? scores[j] : max;
    }
    for (int64_t j = 0; j < seen; j++) {
        scores[j] = expf(scores[j] - max);
        sum += (double)scores[j];
    }
    for (int64_t i = 0; i < s->d; i++)
        y[i] = 0.0f;
    for (int64_t j = 0; j < seen; j++)
        add_scaled(y, v + j * row, (float)((double)scores[j] / sum), s->d);
}

void sdpa_cached_run(const sdpa_cached_shape *s, const sdpa_cached_tensors *t, int threads)
{
    const int64_t queries = s->batch * s->t * s->heads;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t part = 0; part < threads; part++)
        for (int64_t r = part * queries / threads; r < (part + 1) * queries / threads; r++)
            attend(s, t, r, t->position[r / s->heads % s->t] + 1, t->scores + part * s->n);
}
