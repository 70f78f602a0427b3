/* conv2d_wgrad_pairs.c - the gradient of weights with products of bf16: for every tap a sum over pairs of pixels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_algorithms.h"
#include "conv2d/conv2d_pairs.h"

#include <stdlib.h>

/* Of a block: few enough that a panel of dy and one of x stay in the first cache while sums are gone through. */
enum { BLOCK_PIXELS = 256 };

struct conv2d_wgrad_pairs {
    const conv2d_pairs_loops *loops;
    conv2d_geometry g;
    pairs_images x, y; /* x as the first tap reads it */
    int32_t threads, reserved;
    int64_t rows, blocks; /* of y in a block; of these */
    int64_t most;         /* pixels of a block */
    int64_t v;            /* floats of one tap of x */
};

int conv2d_wgrad_pairs_fit(const conv2d_geometry *g)
{
    return g->g == 1 && g->kh * g->kw > 1 && g->c % PAIRS_LANES == 0 && g->o % PAIRS_LANES == 0;
}

static int64_t parts_of(int64_t n, int64_t most)
{
    return (n + most - 1) / most;
}

tutti_status conv2d_wgrad_pairs_create(const conv2d_geometry *g, const conv2d_dtypes *t,
                                       int32_t threads, conv2d_wgrad_pairs **ret,
                                       uint64_t *ret_scratch, tutti_error *err)
{
    const int64_t taps = g->kh * g->kw, all = g->b * g->oh;
    if (t->w != TUTTI_F32)
        return TUTTI_E_UNSUPPORTED;
    conv2d_wgrad_pairs *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for its state");
    s->loops = TUTTI_ISA_PICK(conv2d_pairs);
    s->g = *g;
    s->threads = threads;
    s->x =
        (pairs_images){t->x, 0, g->h, g->w, g->c, g->oh, g->ow, g->sh, g->sw, -g->ph, -g->pw};
    s->y = (pairs_images){t->y, 0, g->oh, g->ow, g->o, g->oh, g->ow, 1, 1, 0, 0};
    s->rows = parts_of(all, parts_of(all, parts_of(BLOCK_PIXELS, g->ow)));
    s->blocks = parts_of(all, s->rows);
    s->most = parts_of(s->rows * g->ow, 2) * 2;
    s->v = parts_of(s->most * g->c / 2, 16) * 16;
    *ret = s;
    *ret_scratch = (uint64_t)(taps * s->v + s->most * g->o / 2) * sizeof(float);
    return TUTTI_OK;
}

void conv2d_wgrad_pairs_destroy(conv2d_wgrad_pairs *s)
{
    free(s);
}

/* Part of a block: tap `tap` of x, or behind these dy. */
static void pack(const conv2d_wgrad_pairs *s, int64_t block, int64_t tap, int64_t row,
                 const void *x, const void *dy, float *v)
{
    const int64_t first = block * s->rows, rows = s->g.b * s->g.oh - first;
    const int64_t end = rows < s->rows ? rows : s->rows;
    pairs_images shifted = s->x;
    if (row >= end)
        return;
    if (tap == s->g.kh * s->g.kw) {
        s->loops->pack(&s->y, first, row, end, s->most, PAIRS_DY, dy, v + tap * s->v);
        return;
    }
    shifted.top += tap / s->g.kw * s->g.dh;
    shifted.left += tap % s->g.kw * s->g.dw;
    s->loops->pack(&shifted, first, row, end, s->most, PAIRS_X, x, v + tap * s->v);
}

void conv2d_wgrad_pairs_run(const conv2d_wgrad_pairs *s, const void *x, const void *dy,
                            float *dw, void *scratch)
{
    const conv2d_geometry *g = &s->g;
    const int64_t taps = g->kh * g->kw, panels = parts_of(g->c, PAIRS_X);
    const int64_t units = parts_of(s->rows, 2), all = g->b * g->oh;
    float *v = scratch;
#pragma omp parallel num_threads(s->threads) if (s->threads > 1)
    for (int64_t k = 0; k < s->blocks; k++) {
        const int64_t left = all - k * s->rows, rows = left < s->rows ? left : s->rows;
#pragma omp for schedule(static)
        for (int64_t p = 0; p < (taps + 1) * units; p++)
            pack(s, k, p / units, p % units * 2, x, dy, v);
#pragma omp for schedule(static)
        for (int64_t p = 0; p < taps * panels; p++) {
            const int64_t tap = p / panels;
            s->loops->sums(parts_of(rows * g->ow, 2), s->most, p % panels * PAIRS_X, g->c, g->o,
                           v + taps * s->v, v + tap * s->v, k == 0, dw + tap * g->c,
                           taps * g->c);
        }
    }
}
