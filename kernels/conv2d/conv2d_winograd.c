/* conv2d_winograd.c - 3 x 3 convolutions in bf16 by Winograd's F(2 x 2, 3 x 3), and their gradients. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_winograd.h"
#include "common/op_util.h"
#include "conv2d/conv2d_algorithms.h"
#include "conv2d/conv2d_pairs.h"

#include <stdlib.h>

/* Bytes of transformed numbers of a block: of forward, a thread's own, in its second cache where that leaves enough
 * tiles for filters to be read seldom; of the weights' gradient, of all threads, or a thread's own while sums of that for
 * all threads are not more than APART_BYTES. */
enum {
    BLOCK_BYTES = 1 << 19,
    BLOCK_TILES = 96,
    SUMS_BYTES = 1 << 21,
    SUMS_TILES = 256,
    OWN_TILES = 128,
    APART_BYTES = 1 << 24
};

struct conv2d_winograd_state {
    const conv2d_winograd_loops *loops;
    const conv2d_pairs_loops *pairs;
    conv2d_geometry g;
    conv2d_dtypes dtypes;
    int32_t kind, threads;
    int32_t apart, reserved; /* weights' gradient: each thread has blocks and sums of its own */
    winograd_images x, y; /* what is read and written; of the weights' gradient both are read */
    int64_t rows, blocks; /* of tiles in a block; of these */
    int64_t most;         /* tiles of a block */
    /* floats of one point of: filters, or their sums; transformed images; products, or transformed dy */
    int64_t u, v, m;
};

int conv2d_winograd_fits(const conv2d_geometry *g)
{
    return g->kh == 3 && g->kw == 3 && g->sh == 1 && g->sw == 1 && g->dh == 1 && g->dw == 1 &&
           g->ph < 3 && g->pw < 3 && g->g == 1 && g->c % WINOGRAD_LANES == 0 &&
           g->o % WINOGRAD_LANES == 0;
}

static int64_t parts_of(int64_t n, int64_t most)
{
    return (n + most - 1) / most;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* With 64 bytes more, so that points are not a power of two apart, which would share few lines of a cache. */
static int64_t apart(int64_t floats)
{
    return parts_of(floats, 16) * 16 + 16;
}

/* Images of x, of which patches are read. */
static winograd_images patches_of(int32_t dtype, int64_t h, int64_t w, int64_t c, int64_t ph,
                                  int64_t pw)
{
    return (winograd_images){.dtype = dtype, .h = h, .w = w, .c = c, .top = -ph, .left = -pw};
}

static void cut(conv2d_winograd_state *s)
{
    s->x.high = s->y.high = parts_of(s->y.h, 2);
    s->x.wide = s->y.wide = parts_of(s->y.w, 2);
}

static int64_t rows_of_tiles(const conv2d_winograd_state *s)
{
    return s->g.b * s->y.high;
}

/* As many rows of tiles to a block as have room for `tiles`: blocks for threads that take as many of them (`shared` 0), or
 * blocks whose rows threads share, two at a time.  The last block may have fewer. */
static void divide(conv2d_winograd_state *s, int64_t tiles, int shared)
{
    const int64_t rows = rows_of_tiles(s), most = parts_of(tiles, s->y.wide);
    const int64_t unit = shared ? 1 : s->threads, even = shared ? 2 * s->threads : 1;
    const int64_t blocks = least(parts_of(parts_of(rows, most), unit) * unit, rows);
    s->rows = parts_of(rows, blocks);
    if (s->rows > even)
        s->rows -= s->rows % even;
    s->blocks = parts_of(rows, s->rows);
    s->most = parts_of(s->rows * s->y.wide, 2) * 2;
}

static uint64_t plan_images(conv2d_winograd_state *s)
{
    const conv2d_geometry *g = &s->g;
    const conv2d_dtypes *t = &s->dtypes;
    s->x = patches_of(t->x, g->h, g->w, g->c, g->ph, g->pw);
    s->y = patches_of(t->y, g->oh, g->ow, g->o, 0, 0);
    if (s->kind == DNN_CONV_GRAD_INPUT) {
        s->x = patches_of(t->y, g->oh, g->ow, g->o, 2 - g->ph, 2 - g->pw);
        s->y = patches_of(t->x, g->h, g->w, g->c, 0, 0);
    }
    cut(s);
    const int64_t tile = WINOGRAD_POINTS * (2 * s->x.c + 4 * s->y.c);
    divide(s, BLOCK_BYTES / tile > BLOCK_TILES ? BLOCK_BYTES / tile : BLOCK_TILES, 0);
    s->u = apart(g->c * g->o / 2);
    s->v = apart(s->most * s->x.c / 2);
    s->m = apart(s->most * s->y.c);
    return (uint64_t)(WINOGRAD_POINTS * (s->u + s->threads * (s->v + s->m)));
}

static uint64_t plan_weights(conv2d_winograd_state *s)
{
    const conv2d_geometry *g = &s->g;
    s->x = patches_of(s->dtypes.x, g->h, g->w, g->c, g->ph, g->pw);
    s->y = patches_of(s->dtypes.y, g->oh, g->ow, g->o, 0, 0);
    cut(s);
    const int64_t tile = WINOGRAD_POINTS * 2 * (g->c + g->o);
    const int64_t shared = SUMS_BYTES / tile > SUMS_TILES ? SUMS_BYTES / tile : SUMS_TILES;
    const int64_t own = BLOCK_BYTES / tile > OWN_TILES ? BLOCK_BYTES / tile : OWN_TILES;
    const int64_t blocks = parts_of(rows_of_tiles(s), parts_of(own, s->y.wide));
    s->u = apart(g->c * g->o);
    s->apart = s->threads > 1 && blocks >= 2 * s->threads &&
               s->threads * WINOGRAD_POINTS * s->u * 4 <= APART_BYTES;
    divide(s, s->apart ? own : shared, !s->apart);
    s->apart = s->apart && s->blocks >= s->threads; /* each has sums */
    s->v = apart(s->most * g->c / 2);
    s->m = apart(s->most * g->o / 2);
    return (uint64_t)((s->apart ? s->threads : 1) * WINOGRAD_POINTS * (s->u + s->v + s->m));
}

tutti_status conv2d_winograd_create(int32_t kind, const conv2d_geometry *g,
                                    const conv2d_dtypes *t, int32_t threads,
                                    conv2d_winograd_state **ret, uint64_t *ret_scratch,
                                    tutti_error *err)
{
    conv2d_winograd_state *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for its state");
    s->loops = TUTTI_ISA_PICK(conv2d_winograd);
    s->pairs = TUTTI_ISA_PICK(conv2d_pairs);
    s->g = *g;
    s->dtypes = *t;
    s->kind = kind;
    s->threads = threads;
    const uint64_t floats = kind == DNN_CONV_GRAD_WEIGHT ? plan_weights(s) : plan_images(s);
    *ret = s;
    *ret_scratch = floats * sizeof(float);
    return TUTTI_OK;
}

void conv2d_winograd_destroy(conv2d_winograd_state *s)
{
    free(s);
}

static winograd_block block_of(const conv2d_winograd_state *s, int64_t k)
{
    const int64_t first = k * s->rows;
    return (winograd_block){first, least(s->rows, rows_of_tiles(s) - first), s->most};
}

/* ---- images: blocks are divided over the threads ---- */

static void run_block(const conv2d_winograd_state *s, int64_t k, const void *x,
                      const float *bias, void *y, const float *u, float *own)
{
    const winograd_block b = block_of(s, k);
    float *m = own + WINOGRAD_POINTS * s->v;
    for (int64_t row = 0; row < b.rows; row++)
        s->loops->patches(&s->x, &b, row, x, s->v, own);
    for (int64_t e = 0; e < WINOGRAD_POINTS; e++)
        s->loops->products(b.rows * s->x.wide, b.most, s->x.c, s->y.c, own + e * s->v,
                           u + e * s->u, m + e * s->m);
    for (int64_t row = 0; row < b.rows; row++)
        s->loops->results(&s->y, &b, row, m, s->m, bias, y);
}

static void run_images(const conv2d_winograd_state *s, const void *x, const void *w,
                       const float *bias, void *y, float *scratch)
{
    const int flipped = s->kind == DNN_CONV_GRAD_INPUT;
    float *u = scratch, *own = u + WINOGRAD_POINTS * s->u;
#pragma omp parallel num_threads(s->threads) if (s->threads > 1)
    {
#pragma omp for schedule(static)
        for (int64_t o = 0; o < s->g.o; o += WINOGRAD_LANES)
            s->loops->filters(w, s->dtypes.w, s->g.c, s->g.o, o, flipped, s->u, u);
#pragma omp for schedule(static)
        for (int64_t t = 0; t < s->threads; t++)
            for (int64_t k = s->blocks * t / s->threads; k < s->blocks * (t + 1) / s->threads;
                 k++)
                run_block(s, k, x, bias, y, u, own + t * WINOGRAD_POINTS * (s->v + s->m));
    }
}

/* ---- the weights' gradient: within a block, threads divide rows of tiles, then points and channels ---- */

/* Rows of tiles [row, row + 2) of a block. */
static void transform(const conv2d_winograd_state *s, const winograd_block *b, int64_t row,
                      const void *x, const void *dy, float *v, float *d)
{
    s->loops->pairs(&s->x, b, row, 1, PAIRS_X, x, s->v, v);
    s->loops->pairs(&s->y, b, row, 0, PAIRS_DY, dy, s->m, d);
}

/* Panel p of all points' panels of a block; `start`: of the first one. */
static void add_up(const conv2d_winograd_state *s, const winograd_block *b, int64_t p,
                   int start, const float *v, const float *d, float *u)
{
    const int64_t panels = parts_of(s->g.c, PAIRS_X), e = p / panels;
    s->pairs->sums(parts_of(b->rows * s->x.wide, 2), b->most, p % panels * PAIRS_X, s->g.c,
                   s->g.o, d + e * s->m, v + e * s->v, start, u + e * s->u, s->g.c);
}

static void run_weights(const conv2d_winograd_state *s, const void *x, const void *dy, void *dw,
                        float *scratch)
{
    const int64_t panels = parts_of(s->g.c, PAIRS_X);
    float *u = scratch, *v = u + WINOGRAD_POINTS * s->u, *d = v + WINOGRAD_POINTS * s->v;
#pragma omp parallel num_threads(s->threads) if (s->threads > 1)
    {
        for (int64_t k = 0; k < s->blocks; k++) {
            const winograd_block b = block_of(s, k);
#pragma omp for schedule(static)
            for (int64_t row = 0; row < b.rows; row += 2)
                transform(s, &b, row, x, dy, v, d);
#pragma omp for schedule(static)
            for (int64_t p = 0; p < WINOGRAD_POINTS * panels; p++)
                add_up(s, &b, p, k == 0, v, d, u);
        }
#pragma omp for schedule(static)
        for (int64_t o = 0; o < s->g.o; o++)
            s->loops->weights(o, s->g.c, u, s->u, s->dtypes.w, dw);
    }
}

/* ---- or each thread has blocks of its own, and what they add up is joined: no thread waits for another's caches ---- */

static void own_blocks(const conv2d_winograd_state *s, int64_t t, const void *x, const void *dy,
                       float *u)
{
    const int64_t panels = parts_of(s->g.c, PAIRS_X), first = s->blocks * t / s->threads;
    float *v = u + WINOGRAD_POINTS * s->u, *d = v + WINOGRAD_POINTS * s->v;
    for (int64_t k = first; k < s->blocks * (t + 1) / s->threads; k++) {
        const winograd_block b = block_of(s, k);
        for (int64_t row = 0; row < b.rows; row += 2)
            transform(s, &b, row, x, dy, v, d);
        for (int64_t p = 0; p < WINOGRAD_POINTS * panels; p++)
            add_up(s, &b, p, k == first, v, d, u);
    }
}

/* Output o's sums of all threads, into those of the first. */
static void join(const conv2d_winograd_state *s, int64_t o, float *u)
{
    const int64_t each = WINOGRAD_POINTS * (s->u + s->v + s->m);
    for (int64_t t = 1; t < s->threads; t++)
        for (int64_t e = 0; e < WINOGRAD_POINTS; e++) {
            float *to = u + e * s->u + o * s->g.c;
            const float *more = to + t * each;
            OP_LOOP for (int64_t c = 0; c < s->g.c; c++) to[c] += more[c];
        }
}

static void run_weights_apart(const conv2d_winograd_state *s, const void *x, const void *dy,
                              void *dw, float *u)
{
#pragma omp parallel num_threads(s->threads)
    {
#pragma omp for schedule(static)
        for (int64_t t = 0; t < s->threads; t++)
            own_blocks(s, t, x, dy, u + t * WINOGRAD_POINTS * (s->u + s->v + s->m));
#pragma omp for schedule(static)
        for (int64_t o = 0; o < s->g.o; o++) {
            join(s, o, u);
            s->loops->weights(o, s->g.c, u, s->u, s->dtypes.w, dw);
        }
    }
}

void conv2d_winograd_run(const conv2d_winograd_state *s, const void *in0, const void *in1,
                         const float *bias, void *out, void *scratch)
{
    if (s->apart)
        run_weights_apart(s, in0, in1, out, scratch);
    else if (s->kind == DNN_CONV_GRAD_WEIGHT)
        run_weights(s, in0, in1, out, scratch);
    else
        run_images(s, in0, in1, bias, out, scratch);
}
