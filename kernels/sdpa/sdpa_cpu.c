/* sdpa_cpu.c - flash attention on a CPU: tiles with a running softmax (Dao et al. 2022), and the gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/simd.h"
#include "sdpa/sdpa.h"

#include <math.h>
#include <string.h>

enum { TILE = SDPA_TILE };

static int64_t tiles(int64_t n)
{
    return (n + TILE - 1) / TILE;
}

/* D in whole registers. */
static int64_t width_of(const sdpa_shape *s)
{
    return (s->d + SIMD_LANES - 1) / SIMD_LANES * SIMD_LANES;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static float scale_of(const sdpa_shape *s)
{
    return (float)s->scale;
}

static int threads_for(const sdpa_shape *s, int threads)
{
    return s->batch * s->heads * s->tq * s->tk * s->d < OP_SERIAL_BELOW ? 1 : threads;
}

/* tile (rows from i0, keys from j0) += bias */
static void add_bias(const sdpa_shape *s, const float *bias, int64_t i0, int64_t rows,
                     int64_t j0, int64_t keys, float *tile)
{
    for (int64_t r = 0; r < rows; r++) {
        const float *from = bias + (i0 + r) * s->bias.t + j0 * s->bias_key;
        for (int64_t j = 0; j < keys; j++)
            tile[r * TILE + j] += from[j * s->bias_key];
    }
}

/* How many of the tile's `keys` keys from j0 on query i sees. */
static int64_t seen_of(const sdpa_shape *s, int64_t i, int64_t j0, int64_t keys)
{
    const int64_t n = sdpa_seen(s, i) - j0;
    return n < 0 ? 0 : least(n, keys);
}

/* On the edge of what is seen, products are done for so many rows at once, each group as far as its last
 * row sees. */
enum { GROUP = 16 };

static int64_t whole(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* The first query of the tile that sees key j, at most `rows`. */
static int64_t first_seeing(const sdpa_shape *s, int64_t i0, int64_t rows, int64_t j)
{
    const int64_t first = s->causal ? j + s->tq - s->tk - i0 : 0;
    return first < 0 ? 0 : least(first, rows);
}

/* c (rows, TILE) = a (rows, d) panel (d, TILE), as far as each group of rows sees. */
static void scores_of(const sdpa_shape *s, const float *a, int64_t a_row, const float *panel,
                      int64_t i0, int64_t rows, int64_t j0, int64_t n, float *c)
{
    const int64_t step = seen_of(s, i0, j0, n) < n ? GROUP : rows;
    for (int64_t r = 0; r < rows; r += step) {
        const int64_t count = least(step, rows - r);
        const int64_t seen = seen_of(s, i0 + r + count - 1, j0, n);
        const sdpa_gemm p = {count, whole(seen, SIMD_LANES), s->d, a_row, 1, TILE, TILE};
        if (seen)
            sdpa_gemm_run(&p, a + r * a_row, panel, c + r * TILE, 0);
    }
}

/* c (rows, w) += tile (rows, n) b (n, w), likewise. */
static void across(const sdpa_shape *s, const float *tile, const float *b, int64_t w,
                   int64_t i0, int64_t rows, int64_t j0, int64_t n, float *c)
{
    const int64_t step = seen_of(s, i0, j0, n) < n ? GROUP : rows;
    for (int64_t r = 0; r < rows; r += step) {
        const int64_t count = least(step, rows - r);
        const int64_t seen = seen_of(s, i0 + r + count - 1, j0, n);
        const sdpa_gemm p = {count, w, seen, TILE, 1, w, w};
        sdpa_gemm_run(&p, tile + r * TILE, b, c + r * w, 1);
    }
}

/* c (n, w) += tile (rows, n) transposed times b (rows, w): each group of keys for the rows that see
 * its first. */
static void down(const sdpa_shape *s, const float *tile, const float *b, int64_t w, int64_t i0,
                 int64_t rows, int64_t j0, int64_t n, float *c)
{
    const int64_t step = seen_of(s, i0, j0, n) < n ? GROUP : n;
    for (int64_t j = 0; j < n; j += step) {
        const int64_t first = first_seeing(s, i0, rows, j0 + j);
        const sdpa_gemm p = {least(step, n - j), w, rows - first, 1, TILE, w, w};
        sdpa_gemm_run(&p, tile + first * TILE + j, b + first * w, c + j * w, 1);
    }
}

static const float *bias_of(const sdpa_shape *s, const float *bias, int64_t b, int64_t h)
{
    return bias ? bias + sdpa_at(&s->bias, b, h, 0) : NULL;
}

/* ---- forward ---- */

/* Of one thread: scaled k^T and v of a head, and a tile of scores and results. */
typedef struct forward {
    float *kt;     /* a (D, TILE) panel every TILE keys */
    float *v;      /* (Tk, width) */
    float *scores; /* (TILE, TILE) */
    float *y;      /* (TILE, width) */
} forward;

static uint64_t forward_floats(const sdpa_shape *s)
{
    const int64_t w = width_of(s);
    return (uint64_t)(tiles(s->tk) * TILE * (s->d + w) + TILE * TILE + TILE * w);
}

static forward forward_at(const sdpa_shape *s, float *at)
{
    const int64_t keys = tiles(s->tk) * TILE;
    forward f = {.kt = at};
    f.v = f.kt + (keys * s->d + 15) / 16 * 16;
    f.scores = f.v + keys * width_of(s);
    f.y = f.scores + TILE * TILE;
    return f;
}

static uint64_t thread_floats(uint64_t floats)
{
    return (floats + 31) / 16 * 16; /* one line to spare for the rounding inside */
}

uint64_t sdpa_scratch(const sdpa_shape *s, int threads)
{
    return thread_floats(forward_floats(s)) * sizeof(float) * (uint64_t)threads;
}

static void forward_load(const sdpa_shape *s, const sdpa_tensors *t, int64_t b, int64_t h,
                         const forward *f)
{
    const float *k = t->k + sdpa_at(&s->k, b, h, 0), *v = t->v + sdpa_at(&s->v, b, h, 0);
    for (int64_t j = 0; j < s->tk; j += TILE)
        sdpa_pack_transposed(k + j * s->k.t, s->k.t, least(TILE, s->tk - j), s->d, scale_of(s),
                             f->kt + j * s->d);
    sdpa_pack_rows(v, s->v.t, s->tk, s->d, width_of(s), 1.0f, f->v);
}

/* The queries of one tile from i0 on. */
static void forward_tile(const sdpa_shape *s, const sdpa_tensors *t, int64_t b, int64_t h,
                         int64_t i0, const forward *f)
{
    const int64_t rows = least(TILE, s->tq - i0), w = width_of(s);
    const int64_t keys = least(s->tk, sdpa_seen(s, i0 + rows - 1));
    const float *q = t->q + sdpa_at(&s->q, b, h, i0), *bias = bias_of(s, t->bias, b, h);
    float max[TILE], sum[TILE] = {0};
    for (int64_t r = 0; r < rows; r++)
        max[r] = -INFINITY;
    memset(f->y, 0, (size_t)(rows * w) * sizeof *f->y);
    for (int64_t j0 = 0; j0 < keys; j0 += TILE) {
        const int64_t n = least(TILE, s->tk - j0);
        scores_of(s, q, s->q.t, f->kt + j0 * s->d, i0, rows, j0, n, f->scores);
        if (bias)
            add_bias(s, bias, i0, rows, j0, n, f->scores);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t seen = seen_of(s, i0 + r, j0, n);
            float *row = f->scores + r * TILE;
            if (seen == 0) {
                memset(row, 0, TILE * sizeof *row);
                continue;
            }
            const float shrink = sdpa_softmax_row(row, seen, &max[r], &sum[r]);
            if (s->drop > 0.0f)
                sdpa_drop_row(s, b * s->heads + h, i0 + r, j0, seen, row);
            if (shrink != 1.0f)
                sdpa_scale_row(f->y + r * w, shrink, w);
        }
        across(s, f->scores, f->v + j0 * w, w, i0, rows, j0, n, f->y);
    }
    for (int64_t r = 0; r < rows; r++) {
        sdpa_scale_row(f->y + r * w, 1.0f / sum[r], w);
        memcpy(t->y + sdpa_at(&s->y, b, h, i0 + r), f->y + r * w, (size_t)s->d * sizeof *f->y);
        t->lse[(b * s->heads + h) * s->tq + i0 + r] =
            (float)((double)max[r] + log((double)sum[r]));
    }
}

void sdpa_run(const sdpa_shape *s, const sdpa_tensors *t, int threads, void *scratch)
{
    const int64_t per_head = tiles(s->tq), n = s->batch * s->heads * per_head;
    const uint64_t own = thread_floats(forward_floats(s));
    const int used = threads_for(s, threads);
#pragma omp parallel for schedule(static) num_threads(used) if (used > 1)
    for (int k = 0; k < used; k++) {
        const forward f = forward_at(s, (float *)scratch + (uint64_t)k * own);
        int64_t loaded = -1;
        for (int64_t i = n * k / used; i < n * (k + 1) / used; i++) {
            const int64_t head = i / per_head, b = head / s->heads, h = head % s->heads;
            if (head != loaded)
                forward_load(s, t, b, h, &f);
            loaded = head;
            forward_tile(s, t, b, h, i % per_head * TILE, &f);
        }
    }
}

/* ---- gradient ---- */

/* Of one thread: the tensors of a head in the layouts that the products want. */
typedef struct backward {
    float *kt, *vt;    /* panels as above; k scaled */
    float *k, *q, *dy; /* (T, width); k scaled */
    float *dq;         /* (Tq, width) */
    float *dk, *dv;    /* (TILE, width) */
    float *p, *ds;     /* (TILE, TILE) */
    float *delta;      /* (Tq): sum of dy y over a row */
} backward;

static uint64_t backward_floats(const sdpa_shape *s)
{
    const int64_t w = width_of(s), keys = tiles(s->tk) * TILE, queries = tiles(s->tq) * TILE;
    return (uint64_t)(keys * (2 * s->d + w) + queries * (3 * w + 1) + 2 * TILE * (w + TILE));
}

static backward backward_at(const sdpa_shape *s, float *at)
{
    const int64_t w = width_of(s), keys = tiles(s->tk) * TILE, queries = tiles(s->tq) * TILE;
    backward f = {.kt = at};
    f.vt = f.kt + keys * s->d;
    f.k = f.vt + keys * s->d;
    f.q = f.k + keys * w;
    f.dy = f.q + queries * w;
    f.dq = f.dy + queries * w;
    f.dk = f.dq + queries * w;
    f.dv = f.dk + TILE * w;
    f.p = f.dv + TILE * w;
    f.ds = f.p + TILE * TILE;
    f.delta = f.ds + TILE * TILE;
    return f;
}

uint64_t sdpa_grad_scratch(const sdpa_shape *s, int threads)
{
    return thread_floats(backward_floats(s)) * sizeof(float) * (uint64_t)threads;
}

static void backward_load(const sdpa_shape *s, const sdpa_tensors *t, int64_t b, int64_t h,
                          const backward *f)
{
    const int64_t w = width_of(s);
    const float *k = t->k + sdpa_at(&s->k, b, h, 0), *v = t->v + sdpa_at(&s->v, b, h, 0);
    const float *y = t->y + sdpa_at(&s->y, b, h, 0), *dy = t->dy + sdpa_at(&s->y, b, h, 0);
    for (int64_t j = 0; j < s->tk; j += TILE) {
        const int64_t n = least(TILE, s->tk - j);
        sdpa_pack_transposed(k + j * s->k.t, s->k.t, n, s->d, scale_of(s), f->kt + j * s->d);
        sdpa_pack_transposed(v + j * s->v.t, s->v.t, n, s->d, 1.0f, f->vt + j * s->d);
    }
    sdpa_pack_rows(k, s->k.t, s->tk, s->d, w, scale_of(s), f->k);
    sdpa_pack_rows(t->q + sdpa_at(&s->q, b, h, 0), s->q.t, s->tq, s->d, w, 1.0f, f->q);
    sdpa_pack_rows(dy, s->y.t, s->tq, s->d, w, 1.0f, f->dy);
    memset(f->dq, 0, (size_t)(s->tq * w) * sizeof *f->dq);
    for (int64_t i = 0; i < s->tq; i++)
        f->delta[i] = (float)sdpa_dot(dy + i * s->y.t, y + i * s->y.t, s->d);
}

/* One tile of queries from i0 on against one of keys from j0 on. */
static void backward_tile(const sdpa_shape *s, int64_t head, const float *bias,
                          const float *lse, int64_t i0, int64_t j0, const backward *f)
{
    const int64_t rows = least(TILE, s->tq - i0), n = least(TILE, s->tk - j0), w = width_of(s);
    scores_of(s, f->q + i0 * w, w, f->kt + j0 * s->d, i0, rows, j0, n, f->p);
    scores_of(s, f->dy + i0 * w, w, f->vt + j0 * s->d, i0, rows, j0, n, f->ds);
    if (bias)
        add_bias(s, bias, i0, rows, j0, n, f->p);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t i = i0 + r, seen = seen_of(s, i, j0, n);
        float *p = f->p + r * TILE, *ds = f->ds + r * TILE;
        if (s->drop > 0.0f)
            sdpa_drop_row(s, head, i, j0, seen, ds);
        sdpa_grad_row(p, ds, seen, lse[i], f->delta[i]);
        if (s->drop > 0.0f)
            sdpa_drop_row(s, head, i, j0, seen, p);
    }
    down(s, f->p, f->dy + i0 * w, w, i0, rows, j0, n, f->dv);
    down(s, f->ds, f->q + i0 * w, w, i0, rows, j0, n, f->dk);
    across(s, f->ds, f->k + j0 * w, w, i0, rows, j0, n, f->dq + i0 * w);
}

/* rows (n, width) go, times scale, to rows of a tensor. */
static void store(const float *from, int64_t n, int64_t w, int64_t d, float scale, float *to,
                  int64_t row)
{
    for (int64_t i = 0; i < n; i++)
        sdpa_pack_rows(from + i * w, w, 1, d, d, scale, to + i * row);
}

static void backward_head(const sdpa_shape *s, const sdpa_tensors *t, int64_t b, int64_t h,
                          const backward *f)
{
    const int64_t w = width_of(s);
    const float *lse = t->lse + (b * s->heads + h) * s->tq;
    backward_load(s, t, b, h, f);
    for (int64_t j0 = 0; j0 < s->tk; j0 += TILE) {
        const int64_t n = least(TILE, s->tk - j0), unseen = j0 + s->tq - s->tk;
        memset(f->dk, 0, (size_t)(n * w) * sizeof *f->dk);
        memset(f->dv, 0, (size_t)(n * w) * sizeof *f->dv);
        for (int64_t i0 = s->causal && unseen > 0 ? unseen / TILE * TILE : 0; i0 < s->tq;
             i0 += TILE)
            backward_tile(s, b * s->heads + h, bias_of(s, t->bias, b, h), lse, i0, j0, f);
        store(f->dk, n, w, s->d, scale_of(s), t->dk + sdpa_at(&s->k, b, h, j0), s->k.t);
        store(f->dv, n, w, s->d, 1.0f, t->dv + sdpa_at(&s->v, b, h, j0), s->v.t);
    }
    store(f->dq, s->tq, w, s->d, 1.0f, t->dq + sdpa_at(&s->q, b, h, 0), s->q.t);
}

void sdpa_grad_run(const sdpa_shape *s, const sdpa_tensors *t, int threads, void *scratch)
{
    const int64_t n = s->batch * s->heads;
    const uint64_t own = thread_floats(backward_floats(s));
    const int used = threads_for(s, threads);
#pragma omp parallel for schedule(static) num_threads(used) if (used > 1)
    for (int k = 0; k < used; k++) {
        const backward f = backward_at(s, (float *)scratch + (uint64_t)k * own);
        for (int64_t i = n * k / used; i < n * (k + 1) / used; i++)
            backward_head(s, t, i / s->heads, i % s->heads, &f);
    }
}
