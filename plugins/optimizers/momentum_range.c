/* momentum_range.c - the update of a range of parameters by momentum, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "momentum_range.h"
#include "optimizer.h"

static void momentum_run(int64_t n, float *restrict w, const float *restrict g,
                         float *restrict buf, const momentum_step *c)
{
    const momentum_step k = *c;
    int64_t i = 0;
    for (; i + OPTIMIZER_LINE <= n; i += OPTIMIZER_LINE) {
        OPTIMIZER_PREFETCH(w, i);
        OPTIMIZER_PREFETCH(g, i);
        OPTIMIZER_PREFETCH(buf, i);
        for (int64_t j = i; j < i + OPTIMIZER_LINE; j++)
            w[j] = momentum_move(w[j], g[j], &buf[j], k);
    }
    for (; i < n; i++)
        w[i] = momentum_move(w[i], g[i], &buf[i], k);
}

static void plain_run(int64_t n, float *restrict w, const float *restrict g,
                      const momentum_step *c)
{
    const momentum_step k = *c;
    for (int64_t i = 0; i < n; i++)
        w[i] = plain_move(w[i], g[i], k);
}

void momentum_range(int64_t n, float *w, const float *g, float *buf, uint16_t *low,
                    int32_t dtype, const momentum_step *c)
{
    const int64_t block = optimizer_block(n, low);
    for (int64_t i = 0; i < n; i += block) {
        const int64_t k = n - i < block ? n - i : block;
        if (buf)
            momentum_run(k, w + i, g + i, buf + i, c);
        else
            plain_run(k, w + i, g + i, c);
        if (low)
            optimizer_to_low(k, w + i, low + i, dtype);
    }
}
