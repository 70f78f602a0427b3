/* conv2d_direct.c - a convolution and its gradient by the input, by AMX's tile registers: taps read the same lines. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_direct.h"
#include "conv2d/conv2d_algorithms.h"
#include "conv2d/conv2d_positions.h"

#include <stdlib.h>

/* Of a thread's block, in its second cache beside filters of 32 outputs; with FILTER_BYTES of filters or more, which
 * come from further away for every block, at least BLOCK_POSITIONS. */
enum { BLOCK_BYTES = 1 << 19, FILTER_BYTES = 1 << 20, BLOCK_POSITIONS = 1024 };

struct conv2d_direct_state {
    const conv2d_direct_loops *loops;
    conv2d_geometry g;
    conv2d_positions p;
    int32_t kind, threads;
    int32_t x_dtype, w_dtype, y_dtype; /* of what is read, of filters, of what is written */
    int32_t reserved;
    int64_t ins, outs;      /* channels that are read and written */
    int64_t phases, panels; /* of 32 channels that are read */
    int64_t lines;          /* floats of one of these in one phase */
    int64_t own;            /* floats of a thread */
    int64_t chunks;
    int64_t from[]; /* direct_sums */
};

static int64_t parts_of(int64_t n, int64_t most)
{
    return (n + most - 1) / most;
}

int conv2d_direct_here(void)
{
    return TUTTI_ISA_PICK(conv2d_direct)->units;
}

int conv2d_direct_fits(int32_t kind, const conv2d_geometry *g)
{
    if (g->g != 1 || g->kh * g->kw == 1)
        return 0;
    if (kind == DNN_CONV)
        return g->c % DIRECT_TILE == 0 && g->o % DIRECT_LANES == 0;
    return g->o % DIRECT_TILE == 0 && g->c % DIRECT_LANES == 0 && g->sh == 1 && g->sw == 1 &&
           g->ph <= (g->kh - 1) * g->dh && g->pw <= (g->kw - 1) * g->dw;
}

/* Of the input's gradient: dy with flipped filters. */
static conv2d_positions positions_of(int32_t kind, const conv2d_geometry *g)
{
    conv2d_positions p = {.images = g->b,
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
    if (kind == DNN_CONV)
        return p;
    p.h = g->oh, p.w = g->ow, p.oh = g->h, p.ow = g->w;
    p.ph = (g->kh - 1) * g->dh - g->ph;
    p.pw = (g->kw - 1) * g->dw - g->pw;
    return p;
}

static int64_t filter_floats(const conv2d_direct_state *s)
{
    return s->chunks * DIRECT_LANES * s->outs;
}

static void plan(conv2d_direct_state *s)
{
    const int64_t least = filter_floats(s) * 4 < FILTER_BYTES ? DIRECT_TILE : BLOCK_POSITIONS;
    const int64_t most = BLOCK_BYTES / (2 * s->ins * s->phases);
    positions_plan(&s->p, most > least ? most : least, s->threads);
    s->lines = s->p.count * DIRECT_LANES;
    /* pixel numbers are two floats each */
    s->own = s->phases * s->panels * s->lines + 2 * (s->p.count + 1 + s->p.results);
    s->own = parts_of(s->own, 16) * 16;
    for (int64_t k = 0; k < s->chunks; k++) {
        const int64_t tap = k / s->panels, u = tap / s->g.kw, v = tap % s->g.kw;
        s->from[k] = (positions_phase(&s->p, u, v) * s->panels + k % s->panels) * s->lines +
                     positions_offset(&s->p, u, v) * DIRECT_LANES;
    }
}

tutti_status conv2d_direct_create(int32_t kind, const conv2d_geometry *g,
                                  const conv2d_dtypes *t, int32_t threads,
                                  conv2d_direct_state **ret, uint64_t *ret_scratch,
                                  tutti_error *err)
{
    const int forward = kind == DNN_CONV;
    const int64_t ins = forward ? g->c : g->o;
    const int64_t chunks = g->kh * g->kw * ins / DIRECT_TILE;
    conv2d_direct_state *s = calloc(1, sizeof *s + (size_t)chunks * sizeof *s->from);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for its state");
    s->loops = TUTTI_ISA_PICK(conv2d_direct);
    s->g = *g;
    s->kind = kind;
    s->threads = threads;
    s->x_dtype = forward ? t->x : t->y;
    s->w_dtype = t->w;
    s->y_dtype = forward ? t->y : t->x;
    s->ins = ins;
    s->outs = forward ? g->o : g->c;
    s->p = positions_of(kind, g);
    s->phases = s->p.sh * s->p.sw;
    s->panels = ins / DIRECT_TILE;
    s->chunks = chunks;
    plan(s);
    *ret = s;
    *ret_scratch = (uint64_t)(filter_floats(s) + threads * s->own) * sizeof(float);
    return TUTTI_OK;
}

void conv2d_direct_destroy(conv2d_direct_state *s)
{
    free(s);
}

/* The filters of 32 outputs from `out` on, or 16. */
static void pack_filters(const conv2d_direct_state *s, const void *w, int64_t out, float *to)
{
    const conv2d_geometry *g = &s->g;
    const int64_t taps = g->kh * g->kw, filter = taps * g->c;
    const int64_t cols = s->outs - out > DIRECT_LANES ? DIRECT_TILE : DIRECT_LANES;
    const int64_t size = s->w_dtype == TUTTI_BF16 ? 2 : 4;
    for (int64_t k = 0; k < s->chunks; k++) {
        const int64_t tap = k / s->panels, in = k % s->panels * DIRECT_TILE;
        const int forward = s->kind == DNN_CONV;
        const int64_t at = forward ? out * filter + tap * g->c + in
                                   : in * filter + (taps - 1 - tap) * g->c + out;
        s->loops->filter((const char *)w + at * size, s->w_dtype, forward ? 1 : filter,
                         forward ? filter : 1, cols, to + k * DIRECT_LANES * cols);
    }
}

/* What a thread's block reads and writes. */
typedef struct work {
    const void *x;
    const float *bias, *filters, *lines;
    void *y;
    const int64_t *pixel; /* of y */
} work;

/* 32 positions of all channels [first, last). */
static void results(const conv2d_direct_state *s, const work *w, int64_t q, int64_t first,
                    int64_t last)
{
    const direct_images y = {w->y, w->pixel + q, s->outs, s->y_dtype, 0};
    direct_sums sums = {s->chunks, s->from, w->lines + q * DIRECT_LANES, NULL};
    for (int64_t c = first; c < last; c += DIRECT_TILE) {
        sums.b = w->filters + c * s->chunks * DIRECT_LANES;
        s->loops->results(&sums, c, w->bias, &y, w->y);
    }
}

/* Few filters stay in the second cache and are gone through for every 32 positions, else the block's lines. */
static void multiply(const conv2d_direct_state *s, const work *w)
{
    const int few = filter_floats(s) * 4 < FILTER_BYTES;
    const int64_t step = few ? s->outs : DIRECT_TILE;
    s->loops->enter();
    for (int64_t c = 0; c < s->outs; c += step)
        for (int64_t q = 0; q < s->p.results; q += DIRECT_TILE)
            results(s, w, q, c, c + step < s->outs ? c + step : s->outs);
    s->loops->leave();
}

static void run_block(const conv2d_direct_state *s, int64_t k, const work *all, float *own)
{
    const int64_t floats = s->phases * s->panels * s->lines;
    int64_t *read = (int64_t *)(own + floats), *written = read + s->p.count + 1;
    work w = *all;
    for (int64_t r = 0; r < s->phases; r++) {
        const direct_images x = {w.x, read, s->ins, s->x_dtype, 0};
        positions_read(&s->p, k, r, read);
        for (int64_t panel = 0; panel < s->panels; panel++)
            s->loops->lines(&x, panel * DIRECT_TILE, s->p.count,
                            own + (r * s->panels + panel) * s->lines);
    }
    positions_written(&s->p, k, written);
    w.lines = own;
    w.pixel = written;
    multiply(s, &w);
}

void conv2d_direct_run(const conv2d_direct_state *s, const void *x, const void *w,
                       const float *bias, void *y, void *scratch)
{
    float *filters = scratch, *own = filters + filter_floats(s);
    const work all = {.x = x, .bias = bias, .filters = filters, .y = y};
#pragma omp parallel num_threads(s->threads) if (s->threads > 1)
    {
#pragma omp for schedule(static)
        for (int64_t out = 0; out < s->outs; out += DIRECT_TILE)
            pack_filters(s, w, out, filters + out * s->chunks * DIRECT_LANES);
#pragma omp for schedule(static)
        for (int64_t t = 0; t < s->threads; t++)
            for (int64_t k = s->p.blocks * t / s->threads;
                 k < s->p.blocks * (t + 1) / s->threads; k++)
                run_block(s, k, &all, own + t * s->own);
    }
}
