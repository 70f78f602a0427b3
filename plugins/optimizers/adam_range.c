/* adam_range.c - Adam's update of a range of parameters, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "adam_range.h"
#include "optimizer.h"

static void adam_run(int64_t n, float *restrict w, const float *restrict g, float *restrict m,
                     float *restrict v, const adam_step *c)
{
    const adam_step k = *c;
    int64_t i = 0;
    for (; i + OPTIMIZER_LINE <= n; i += OPTIMIZER_LINE) {
        OPTIMIZER_PREFETCH(w, i);
        OPTIMIZER_PREFETCH(g, i);
        OPTIMIZER_PREFETCH(m, i);
        OPTIMIZER_PREFETCH(v, i);
        for (int64_t j = i; j < i + OPTIMIZER_LINE; j++) {
            adam_average(w[j], &m[j], &v[j], g[j], k);
            w[j] = adam_move(w[j], m[j], v[j], k);
        }
    }
    for (; i < n; i++) {
        adam_average(w[i], &m[i], &v[i], g[i], k);
        w[i] = adam_move(w[i], m[i], v[i], k);
    }
}

/* The same with the largest v so far in the denominator. */
static void amsgrad_run(int64_t n, float *restrict w, const float *restrict g,
                        float *restrict m, float *restrict v, float *restrict most,
                        const adam_step *c)
{
    const adam_step k = *c;
    for (int64_t i = 0; i < n; i++) {
        adam_average(w[i], &m[i], &v[i], g[i], k);
        most[i] = v[i] > most[i] ? v[i] : most[i];
        w[i] = adam_move(w[i], m[i], most[i], k);
    }
}

void adam_range(int64_t n, float *w, const float *g, float *m, float *v, float *most,
                uint16_t *low, int32_t dtype, const adam_step *c)
{
    const int64_t block = optimizer_block(n, low);
    for (int64_t i = 0; i < n; i += block) {
        const int64_t k = n - i < block ? n - i : block;
        if (most)
            amsgrad_run(k, w + i, g + i, m + i, v + i, most + i, c);
        else
            adam_run(k, w + i, g + i, m + i, v + i, c);
        if (low)
            optimizer_to_low(k, w + i, low + i, dtype);
    }
}
