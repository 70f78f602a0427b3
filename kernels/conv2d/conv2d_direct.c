/* conv2d_direct.c - a convolution and its gradient by the input, by AMX's tile registers: taps read the same lines. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_direct.h"
#include "conv2d/conv2d_algorithms.h"
#include "conv2d/conv2d_positions.h"

#include <stdlib.h>

/* Of a thread's block, in its second cache beside filters of 32 outputs; with FILTER_BYTES of filters or more, which
 * come from further away for every block, at least BLOCK_POSITIONS. */
enum { BLOCK_BYTES = 1 << 19, FILTER_BYTES = 1 << 20, BLOCK_POSITIONS = 1024 };

/* Chunks of sums are in the order of phases that are written, of taps, of channels that are read. */
struct conv2d_direct_state {
    const conv2d_direct_loops *loops;
    conv2d_geometry g;
    conv2d_positions p;
    int32_t kind, threads;
    int32_t x_dtype, w_dtype, y_dtype; /* of what is read, of filters, of what is written */
    int32_t reserved;
    int64_t ins, outs;    /* channels that are read and written */
    int64_t read, panels; /* phases that are read; panels of 32 channels of these */
    int64_t lines;        /* floats of a panel of a phase */
    int64_t written;      /* phases that are written */
    int64_t own;          /* floats of a thread */
    int64_t chunks;
    int64_t *tap,
        *first;     /* of a chunk; the first chunk of a phase that is written, and the end */
    int64_t from[]; /* direct_sums; behind them what these two point to */
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
    return g->o % DIRECT_TILE == 0 && g->c % DIRECT_LANES == 0;
}

static conv2d_positions forward_positions(const conv2d_geometry *g)
{
    return (conv2d_positions){.images = g->b,
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
}

/* Of the input's gradient along one axis: row m s + r of dx reads rows m + (r + p - u d) / s of dy, of the taps u for
 * which this is whole. */
typedef struct axis {
    int64_t s, p, d;
    int64_t least, most; /* of these distances */
} axis;

static int64_t phase_of(const axis *a, int64_t u)
{
    const int64_t r = (u * a->d - a->p) % a->s;
    return r < 0 ? r + a->s : r;
}

static int64_t distance(const axis *a, int64_t u)
{
    return (phase_of(a, u) + a->p - u * a->d) / a->s;
}

static axis axis_of(int64_t k, int64_t s, int64_t p, int64_t d)
{
    axis a = {s, p, d, 0, 0};
    a.least = a.most = distance(&a, 0);
    for (int64_t u = 1; u < k; u++) {
        const int64_t at = distance(&a, u);
        a.least = at < a.least ? at : a.least;
        a.most = at > a.most ? at : a.most;
    }
    return a;
}

static axis rows_of(const conv2d_geometry *g)
{
    return axis_of(g->kh, g->sh, g->ph, g->dh);
}

static axis columns_of(const conv2d_geometry *g)
{
    return axis_of(g->kw, g->sw, g->pw, g->dw);
}

static conv2d_positions input_positions(const conv2d_geometry *g)
{
    const axis i = rows_of(g), j = columns_of(g);
    return (conv2d_positions){.images = g->b,
                              .h = g->oh,
                              .w = g->ow,
                              .oh = parts_of(g->h, g->sh),
                              .ow = parts_of(g->w, g->sw),
                              .kh = i.most - i.least + 1,
                              .kw = j.most - j.least + 1,
                              .sh = 1,
                              .sw = 1,
                              .ph = -i.least,
                              .pw = -j.least,
                              .dh = 1,
                              .dw = 1,
                              .to_h = g->h,
                              .to_w = g->w,
                              .step_h = g->sh,
                              .step_w = g->sw};
}

/* Whether tap (u, v) is one of the results of phase r, and then where it reads. */
static int reads(const conv2d_direct_state *s, int64_t r, int64_t u, int64_t v, int64_t *ret)
{
    if (s->kind == DNN_CONV) {
        *ret = positions_phase(&s->p, u, v) * s->panels * s->lines +
               positions_offset(&s->p, u, v) * DIRECT_LANES;
        return 1;
    }
    const axis i = rows_of(&s->g), j = columns_of(&s->g);
    *ret =
        ((distance(&i, u) - i.least) * s->p.pitch + distance(&j, v) - j.least) * DIRECT_LANES;
    return phase_of(&i, u) == r / s->g.sw && phase_of(&j, v) == r % s->g.sw;
}

static void plan_chunks(conv2d_direct_state *s)
{
    const int64_t taps = s->g.kh * s->g.kw;
    int64_t k = 0, at;
    for (int64_t r = 0; r < s->written; r++) {
        s->first[r] = k;
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t in = 0;
                 in < s->panels && reads(s, r, tap / s->g.kw, tap % s->g.kw, &at); in++, k++) {
                s->from[k] = at + in * s->lines;
                s->tap[k] = tap;
            }
    }
    s->first[s->written] = k;
}

static int64_t filter_floats(const conv2d_direct_state *s)
{
    return s->chunks * DIRECT_LANES * s->outs;
}

static void plan(conv2d_direct_state *s)
{
    const int64_t least = filter_floats(s) * 4 < FILTER_BYTES ? DIRECT_TILE : BLOCK_POSITIONS;
    const int64_t most = BLOCK_BYTES / (2 * s->ins * s->read);
    positions_plan(&s->p, most > least ? most : least, s->threads);
    s->lines = s->p.count * DIRECT_LANES;
    /* pixel numbers are two floats each */
    s->own = s->read * s->panels * s->lines + 2 * (s->p.count + 1 + s->written * s->p.results);
    s->own = parts_of(s->own, 16) * 16;
    plan_chunks(s);
}

tutti_status conv2d_direct_create(int32_t kind, const conv2d_geometry *g,
                                  const conv2d_dtypes *t, int32_t threads,
                                  conv2d_direct_state **ret, uint64_t *ret_scratch,
                                  tutti_error *err)
{
    const int forward = kind == DNN_CONV;
    const int64_t ins = forward ? g->c : g->o;
    const int64_t chunks = g->kh * g->kw * ins / DIRECT_TILE;
    const int64_t written = forward ? 1 : g->sh * g->sw;
    conv2d_direct_state *s =
        calloc(1, sizeof *s + (size_t)(2 * chunks + written + 1) * sizeof *s->from);
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
    s->p = forward ? forward_positions(g) : input_positions(g);
    s->read = s->p.sh * s->p.sw;
    s->written = written;
    s->panels = ins / DIRECT_TILE;
    s->chunks = chunks;
    s->tap = s->from + chunks;
    s->first = s->tap + chunks;
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
    const int64_t filter = g->kh * g->kw * g->c;
    const int64_t cols = s->outs - out > DIRECT_LANES ? DIRECT_TILE : DIRECT_LANES;
    const int64_t size = s->w_dtype == TUTTI_BF16 ? 2 : 4;
    for (int64_t k = 0; k < s->chunks; k++) {
        const int64_t in = k % s->panels * DIRECT_TILE;
        const int forward = s->kind == DNN_CONV;
        const int64_t at = s->tap[k] * g->c + (forward ? out * filter + in : in * filter + out);
        s->loops->filter((const char *)w + at * size, s->w_dtype, forward ? 1 : filter,
                         forward ? filter : 1, cols, to + k * DIRECT_LANES * cols);
    }
}

/* What a thread's block reads and writes. */
typedef struct work {
    const void *x;
    const float *bias, *filters, *lines;
    void *y;
    const int64_t *pixel; /* of each phase of y */
} work;

/* 32 positions of a phase, all channels [first, last). */
static void results(const conv2d_direct_state *s, const work *w, int64_t r, int64_t q,
                    int64_t first, int64_t last)
{
    const direct_images y = {w->y, w->pixel + r * s->p.results + q, s->outs, s->y_dtype, 0};
    const int64_t chunk = s->first[r];
    direct_sums sums = {s->first[r + 1] - chunk, s->from + chunk, w->lines + q * DIRECT_LANES,
                        NULL};
    for (int64_t c = first; c < last; c += DIRECT_TILE) {
        const int64_t cols = s->outs - c > DIRECT_LANES ? DIRECT_TILE : DIRECT_LANES;
        sums.b = w->filters + (c * s->chunks + chunk * cols) * DIRECT_LANES;
        s->loops->results(&sums, c, w->bias, &y, w->y);
    }
}

/* Few filters stay in the second cache and are gone through for every 32 positions, else the block's lines. */
static void multiply(const conv2d_direct_state *s, const work *w)
{
    const int few = filter_floats(s) * 4 < FILTER_BYTES;
    const int64_t step = few ? s->outs : DIRECT_TILE;
    s->loops->enter();
    for (int64_t r = 0; r < s->written; r++)
        for (int64_t c = 0; c < s->outs; c += step)
            for (int64_t q = 0; q < s->p.results; q += DIRECT_TILE)
                results(s, w, r, q, c, c + step < s->outs ? c + step : s->outs);
    s->loops->leave();
}

static void run_block(const conv2d_direct_state *s, int64_t k, const work *all, float *own)
{
    const int64_t floats = s->read * s->panels * s->lines;
    int64_t *read = (int64_t *)(own + floats), *written = read + s->p.count + 1;
    work w = *all;
    for (int64_t r = 0; r < s->read; r++) {
        const direct_images x = {w.x, read, s->ins, s->x_dtype, 0};
        positions_read(&s->p, k, r, read);
        for (int64_t panel = 0; panel < s->panels; panel++)
            s->loops->lines(&x, panel * DIRECT_TILE, s->p.count,
                            own + (r * s->panels + panel) * s->lines);
    }
    for (int64_t r = 0; r < s->written; r++)
        positions_written(&s->p, k, r, written + r * s->p.results);
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
