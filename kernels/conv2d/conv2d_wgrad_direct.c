/* conv2d_wgrad_direct.c - the gradient of weights by AMX's tile registers: taps read the same pairs of positions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_algorithms.h"
#include "conv2d/conv2d_direct.h"
#include "conv2d/conv2d_positions.h"

#include <stdlib.h>

/* Of a block: what is packed of it, so that it stays in the second cache; but sums that are as long as the weights are
 * many, which go through memory once a block. */
enum { BLOCK_BYTES = 1 << 20, BLOCK_POSITIONS = 1024 };

/* From so many bytes of pairs on these are gone through once a block and dy again and again; else dy once. */
enum { PAIRS_BYTES = 3 << 19 };

struct conv2d_wgrad_direct {
    const conv2d_direct_loops *loops;
    conv2d_geometry g;
    conv2d_positions p;
    int32_t x_dtype, y_dtype;
    int32_t threads, reserved;
    int64_t phases;
    int64_t pairs, transposed; /* floats of a panel of 16 channels of x, of dy */
};

static int64_t parts_of(int64_t n, int64_t most)
{
    return (n + most - 1) / most;
}

int conv2d_wgrad_direct_fits(const conv2d_geometry *g)
{
    return g->g == 1 && g->kh * g->kw > 1 && g->c % DIRECT_LANES == 0 &&
           g->o % DIRECT_LANES == 0;
}

tutti_status conv2d_wgrad_direct_create(const conv2d_geometry *g, const conv2d_dtypes *t,
                                        int32_t threads, conv2d_wgrad_direct **ret,
                                        uint64_t *ret_scratch, tutti_error *err)
{
    if (t->w != TUTTI_F32)
        return TUTTI_E_UNSUPPORTED;
    conv2d_wgrad_direct *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for its state");
    s->loops = TUTTI_ISA_PICK(conv2d_direct);
    s->g = *g;
    s->x_dtype = t->x;
    s->y_dtype = t->y;
    s->threads = threads;
    s->phases = g->sh * g->sw;
    s->p = (conv2d_positions){.images = g->b,
                              .h = g->h,
                              .w = g->w,
                              .oh = g->oh,
                              .ow = g->ow,
                              .kh = g->kh,
                              .kw = g->kw,
                              .sh = g->sh,
                              .sw = g->sw,
                              .ph = g->ph,
                              .pw = g->pw,
                              .dh = g->dh,
                              .dw = g->dw};
    const int64_t most = BLOCK_BYTES / (4 * s->phases * g->c + 2 * g->o);
    positions_plan(&s->p, most > BLOCK_POSITIONS ? most : BLOCK_POSITIONS, 1);
    s->pairs = s->p.count * DIRECT_LANES;
    s->transposed = s->p.results / 2 * DIRECT_LANES;
    const int64_t floats =
        s->phases * g->c / DIRECT_LANES * s->pairs + g->o / DIRECT_LANES * s->transposed;
    const int64_t pixels = s->phases * (s->p.count + 1) + s->p.results;
    *ret = s;
    *ret_scratch = (uint64_t)floats * sizeof(float) + (uint64_t)pixels * sizeof(int64_t);
    return TUTTI_OK;
}

void conv2d_wgrad_direct_destroy(conv2d_wgrad_direct *s)
{
    free(s);
}

/* One run: its operands, and its scratch in parts. */
typedef struct work {
    const void *x, *dy;
    float *dw;
    float *pairs, *transposed;
    int64_t *pixel; /* of each phase, then of dy */
} work;

/* Panel `k` of all phases of x, then of dy. */
static void pack(const conv2d_wgrad_direct *s, const work *w, int64_t k)
{
    const int64_t panels = s->g.c / DIRECT_LANES, phase = k / panels;
    const int64_t *pixel = w->pixel + phase * (s->p.count + 1);
    if (phase < s->phases) {
        const direct_images x = {w->x, pixel, s->g.c, s->x_dtype, 0};
        s->loops->pairs(&x, k % panels * DIRECT_LANES, s->p.count, w->pairs + k * s->pairs);
        return;
    }
    const int64_t o = k - s->phases * panels;
    const direct_images dy = {w->dy, w->pixel + s->phases * (s->p.count + 1), s->g.o,
                              s->y_dtype, 0};
    s->loops->transposed(&dy, o * DIRECT_LANES, s->p.results,
                         w->transposed + o * s->transposed);
}

/* 32 outputs by 32 channels of a tap, or less at the ends. */
static void sums(const conv2d_wgrad_direct *s, const work *w, int64_t o, int64_t c, int64_t tap,
                 int start)
{
    const conv2d_geometry *g = &s->g;
    const int64_t u = tap / g->kw, v = tap % g->kw, row = g->kh * g->kw * g->c;
    const int64_t panel =
        positions_phase(&s->p, u, v) * (g->c / DIRECT_LANES) + c / DIRECT_LANES;
    const float *a = w->transposed + o / DIRECT_LANES * s->transposed;
    const float *b = w->pairs + panel * s->pairs + positions_offset(&s->p, u, v) * DIRECT_LANES;
    s->loops->add(s->p.results / POSITIONS_STEP, a,
                  g->o - o > DIRECT_LANES ? a + s->transposed : NULL, b,
                  g->c - c > DIRECT_LANES ? b + s->pairs : NULL, start,
                  w->dw + o * row + tap * g->c + c, row);
}

/* Tile `k` of the weights: taps follow each other. */
static void tile(const conv2d_wgrad_direct *s, const work *w, int64_t k, int start)
{
    const int64_t taps = s->g.kh * s->g.kw, tap = k % taps, at = k / taps;
    const int64_t high = parts_of(s->g.o, DIRECT_TILE), wide = parts_of(s->g.c, DIRECT_TILE);
    if (s->phases * s->g.c / DIRECT_LANES * s->pairs * 4 > PAIRS_BYTES)
        sums(s, w, at % high * DIRECT_TILE, at / high * DIRECT_TILE, tap, start);
    else
        sums(s, w, at / wide * DIRECT_TILE, at % wide * DIRECT_TILE, tap, start);
}

static void block(const conv2d_wgrad_direct *s, const work *w, int64_t k)
{
    const int64_t taps = s->g.kh * s->g.kw;
    const int64_t tiles = taps * parts_of(s->g.o, DIRECT_TILE) * parts_of(s->g.c, DIRECT_TILE);
#pragma omp for schedule(static)
    for (int64_t r = 0; r <= s->phases; r++) {
        int64_t *pixel = w->pixel + r * (s->p.count + 1);
        if (r < s->phases)
            positions_read(&s->p, k, r, pixel);
        else
            positions_written(&s->p, k, 0, pixel);
    }
#pragma omp for schedule(static)
    for (int64_t r = 0; r < (s->phases * s->g.c + s->g.o) / DIRECT_LANES; r++)
        pack(s, w, r);
#pragma omp for schedule(static)
    for (int64_t t = 0; t < s->threads; t++) {
        s->loops->enter();
        for (int64_t r = tiles * t / s->threads; r < tiles * (t + 1) / s->threads; r++)
            tile(s, w, r, k == 0);
        s->loops->leave();
    }
}

void conv2d_wgrad_direct_run(const conv2d_wgrad_direct *s, const void *x, const void *dy,
                             float *dw, void *scratch)
{
    const int64_t floats = s->phases * s->g.c / DIRECT_LANES * s->pairs;
    float *transposed = (float *)scratch + floats;
    const work w = {.x = x,
                    .dy = dy,
                    .dw = dw,
                    .pairs = scratch,
                    .transposed = transposed,
                    .pixel = (int64_t *)(transposed + s->g.o / DIRECT_LANES * s->transposed)};
#pragma omp parallel num_threads(s->threads) if (s->threads > 1)
    for (int64_t k = 0; k < s->p.blocks; k++)
        block(s, &w, k);
}
