/* sdpa_cpu.c - flash attention on a CPU: tiles with an online softmax (Dao et al. 2022), and the gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/amx.h"
#include "common/fastmath.h"
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

/* Numbers of q, k, v and dy in a word: two of 16 bits, neighbours along what a product sums over. */
static int64_t deep_of(const sdpa_tensors *t)
{
    return t->dtype == TUTTI_F32 ? 1 : 2;
}

static int64_t words_of(int64_t n, int64_t deep)
{
    return (n + deep - 1) / deep;
}

/* The factor of scores that comes with their exponentials; 1: they are scaled before, or k is. */
static float scale_later(const sdpa_shape *s, int64_t deep, const float *bias)
{
    return deep == 2 && !bias && s->drop == 0.0f ? scale_of(s) : 1.0f;
}

/* Element `at` of one of these tensors. */
static void *element(const void *x, int64_t deep, int64_t at)
{
    return (char *)(uintptr_t)x + at * (4 / deep);
}

static void product(int64_t deep, const sdpa_gemm *p, const float *a, const float *b, float *c,
                    int add)
{
    if (deep == 2)
        sdpa_gemm_pairs_run(p, a, b, c, add);
    else
        sdpa_gemm_run(p, a, b, c, add);
}

/* n rows of a tensor as a panel, a word of D after the other; 16 bits are left as they are, their scale comes with
 * the scores. */
static void load_panel(const sdpa_shape *s, int64_t deep, const void *x, int64_t row, int64_t n,
                       float scale, float *to)
{
    if (deep == 2)
        sdpa_pack_words(x, row / 2, n, s->d / 2, to);
    else
        sdpa_pack_transposed(x, row, n, s->d, scale, to);
}

/* n rows as rows of `w`, or every two of 16 bits as one of words. */
static void load_rows(const sdpa_shape *s, int64_t deep, const void *x, int64_t row, int64_t n,
                      int64_t w, float scale, float *to)
{
    if (deep == 2)
        sdpa_pack_pairs(x, row, n, s->d, w, to);
    else
        sdpa_pack_rows(x, row, n, s->d, w, scale, to);
}

/* A row of results times scale goes to its tensor. */
static void store_row(const sdpa_shape *s, int64_t deep, const float *from, float scale,
                      void *to)
{
    if (deep == 2)
        sdpa_store_half(from, s->d, scale, to);
    else
        sdpa_pack_rows(from, s->d, 1, s->d, s->d, scale, to);
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

/* c (rows, TILE) = a (rows, d) panel (d, TILE), times scale where a and panel have 16 bits, as far as each group of rows
 * sees. */
static void scores_of(const sdpa_shape *s, int64_t deep, const float *a, int64_t a_row,
                      const float *panel, float scale, int64_t i0, int64_t rows, int64_t j0,
                      int64_t n, float *c)
{
    const int64_t step = seen_of(s, i0, j0, n) < n ? GROUP : rows;
    for (int64_t r = 0; r < rows; r += step) {
        const int64_t count = least(step, rows - r);
        const int64_t seen = seen_of(s, i0 + r + count - 1, j0, n);
        const int64_t cols = whole(seen, SIMD_LANES);
        const sdpa_gemm p = {count, cols, words_of(s->d, deep), a_row, 1, TILE, TILE};
        if (seen)
            product(deep, &p, a + r * a_row, panel, c + r * TILE, 0);
        for (int64_t i = r; i < r + count && deep == 2 && scale != 1.0f; i++)
            sdpa_scale_row(c + i * TILE, scale, cols);
    }
}

/* c (rows, w) += tile (rows, n) b (n, w), likewise. */
static void across(const sdpa_shape *s, int64_t deep, const float *tile, const float *b,
                   int64_t w, int64_t i0, int64_t rows, int64_t j0, int64_t n, float *c)
{
    const int64_t step = seen_of(s, i0, j0, n) < n ? GROUP : rows;
    for (int64_t r = 0; r < rows; r += step) {
        const int64_t count = least(step, rows - r);
        const int64_t seen = seen_of(s, i0 + r + count - 1, j0, n);
        const sdpa_gemm p = {count, w, words_of(seen, deep), TILE, 1, w, w};
        product(deep, &p, tile + r * TILE, b, c + r * w, 1);
    }
}

/* c (n, w) += tile (rows, n) transposed times b (rows, w): each group of keys for the rows that see
 * its first, in whole words. */
static void down(const sdpa_shape *s, int64_t deep, const float *tile, const float *b,
                 int64_t w, int64_t i0, int64_t rows, int64_t j0, int64_t n, float *c)
{
    const int64_t step = seen_of(s, i0, j0, n) < n ? GROUP : n;
    for (int64_t j = 0; j < n; j += step) {
        const int64_t first = first_seeing(s, i0, rows, j0 + j) / deep;
        const int64_t count = words_of(rows, deep) - first;
        const sdpa_gemm p = {least(step, n - j), w, count, 1, TILE, w, w};
        product(deep, &p, tile + first * TILE + j, b + first * w, c + j * w, 1);
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
    const int64_t deep = deep_of(t);
    for (int64_t j = 0; j < s->tk; j += TILE)
        load_panel(s, deep, element(t->k, deep, sdpa_at(&s->k, b, h, j)), s->k.t,
                   least(TILE, s->tk - j), scale_of(s), f->kt + j * words_of(s->d, deep));
    load_rows(s, deep, element(t->v, deep, sdpa_at(&s->v, b, h, 0)), s->v.t, s->tk, width_of(s),
              1.0f, f->v);
}

/* Where a row of probabilities is drawn. */
typedef struct drawn {
    int64_t head, i, j;
} drawn;

/* A row of scores becomes exponentials, of 16 bits where the products are; returns what the results so far shrink by. */
static float exponentials_of(const sdpa_shape *s, int64_t deep, const drawn *at, float scale,
                             int64_t seen, float *row, float *max, float *sum)
{
    if (seen == 0) {
        memset(row, 0, TILE * sizeof *row);
        return 1.0f;
    }
    if (deep == 2 && s->drop == 0.0f)
        return sdpa_softmax_half(row, scale, seen, max, sum);
    const float shrink = sdpa_softmax_row(row, seen, max, sum);
    if (s->drop > 0.0f)
        sdpa_drop_row(s, at->head, at->i, at->j, seen, row);
    if (deep == 2)
        sdpa_narrow_row(row);
    return shrink;
}

/* The queries of one tile from i0 on. */
static void forward_tile(const sdpa_shape *s, const sdpa_tensors *t, int64_t b, int64_t h,
                         int64_t i0, const forward *f)
{
    const int64_t rows = least(TILE, s->tq - i0), w = width_of(s);
    const int64_t keys = least(s->tk, sdpa_seen(s, i0 + rows - 1));
    const int64_t deep = deep_of(t), panel = words_of(s->d, deep);
    const float *q = element(t->q, deep, sdpa_at(&s->q, b, h, i0));
    const float *bias = bias_of(s, t->bias, b, h);
    float max[TILE], sum[TILE] = {0};
    for (int64_t r = 0; r < rows; r++)
        max[r] = -INFINITY;
    memset(f->y, 0, (size_t)(rows * w) * sizeof *f->y);
    const float later = scale_later(s, deep, bias),
                now = deep == 2 ? scale_of(s) / later : 1.0f;
    for (int64_t j0 = 0; j0 < keys; j0 += TILE) {
        const int64_t n = least(TILE, s->tk - j0);
        scores_of(s, deep, q, s->q.t / deep, f->kt + j0 * panel, now, i0, rows, j0, n,
                  f->scores);
        if (bias)
            add_bias(s, bias, i0, rows, j0, n, f->scores);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t seen = seen_of(s, i0 + r, j0, n);
            const drawn at = {b * s->heads + h, i0 + r, j0};
            const float shrink = exponentials_of(s, deep, &at, later, seen,
                                                 f->scores + r * TILE, &max[r], &sum[r]);
            if (shrink != 1.0f && j0 > 0)
                sdpa_scale_row(f->y + r * w, shrink, w);
        }
        across(s, deep, f->scores, f->v + j0 / deep * w, w, i0, rows, j0, n, f->y);
    }
    for (int64_t r = 0; r < rows; r++) {
        store_row(s, deep, f->y + r * w, 1.0f / sum[r],
                  element(t->y, deep, sdpa_at(&s->y, b, h, i0 + r)));
        t->lse[(b * s->heads + h) * s->tq + i0 + r] =
            (float)((double)max[r] + fast_log_f64((double)sum[r]));
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
        amx_begin();
        for (int64_t i = n * k / used; i < n * (k + 1) / used; i++) {
            const int64_t head = i / per_head, b = head / s->heads, h = head % s->heads;
            if (head != loaded)
                forward_load(s, t, b, h, &f);
            loaded = head;
            forward_tile(s, t, b, h, i % per_head * TILE, &f);
        }
        amx_end();
    }
}

/* ---- gradient ---- */

/* Of one thread: the tensors of a head in the layouts that the products want. */
typedef struct backward {
    float *kt, *vt;                /* panels as above; k scaled */
    float *k, *q, *dy;             /* (T, width); k scaled; of 16 bits two rows in one */
    const float *q_rows, *dy_rows; /* whose rows are factors of scores */
    int64_t q_row, dy_row;         /* words */
    float *dq;                     /* (Tq, width) */
    float *dk, *dv;                /* (TILE, width) */
    float *p, *ds;                 /* (TILE, TILE) */
    float *p2, *ds2;               /* of 16 bits: two rows of these in one */
    float *delta;                  /* (Tq): sum of dy y over a row */
} backward;

static uint64_t backward_floats(const sdpa_shape *s)
{
    const int64_t w = width_of(s), keys = tiles(s->tk) * TILE, queries = tiles(s->tq) * TILE;
    return (uint64_t)(keys * (2 * s->d + w) + queries * (3 * w + 1) + 2 * TILE * w +
                      3 * TILE * TILE);
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
    f.p2 = f.ds + TILE * TILE;
    f.ds2 = f.p2 + TILE * TILE / 2;
    f.delta = f.ds2 + TILE * TILE / 2;
    return f;
}

uint64_t sdpa_grad_scratch(const sdpa_shape *s, int threads)
{
    return thread_floats(backward_floats(s)) * sizeof(float) * (uint64_t)threads;
}

static void backward_load(const sdpa_shape *s, const sdpa_tensors *t, int64_t b, int64_t h,
                          backward *f)
{
    const int64_t w = width_of(s), deep = deep_of(t), panel = words_of(s->d, deep);
    const void *k = element(t->k, deep, sdpa_at(&s->k, b, h, 0));
    const void *v = element(t->v, deep, sdpa_at(&s->v, b, h, 0));
    const void *q = element(t->q, deep, sdpa_at(&s->q, b, h, 0));
    const void *dy = element(t->dy, deep, sdpa_at(&s->y, b, h, 0));
    const void *y = element(t->y, deep, sdpa_at(&s->y, b, h, 0));
    for (int64_t j = 0; j < s->tk; j += TILE) {
        const int64_t n = least(TILE, s->tk - j);
        load_panel(s, deep, element(k, deep, j * s->k.t), s->k.t, n, scale_of(s),
                   f->kt + j * panel);
        load_panel(s, deep, element(v, deep, j * s->v.t), s->v.t, n, 1.0f, f->vt + j * panel);
    }
    load_rows(s, deep, k, s->k.t, s->tk, w, scale_of(s), f->k);
    load_rows(s, deep, q, s->q.t, s->tq, w, 1.0f, f->q);
    load_rows(s, deep, dy, s->y.t, s->tq, w, 1.0f, f->dy);
    f->q_rows = deep == 2 ? q : f->q;
    f->q_row = deep == 2 ? s->q.t / 2 : w;
    f->dy_rows = deep == 2 ? dy : f->dy;
    f->dy_row = deep == 2 ? s->y.t / 2 : w;
    memset(f->dq, 0, (size_t)(s->tq * w) * sizeof *f->dq);
    for (int64_t i = 0; i < s->tq; i++) {
        const void *one = element(dy, deep, i * s->y.t), *other = element(y, deep, i * s->y.t);
        f->delta[i] =
            (float)(deep == 2 ? sdpa_dot_half(one, other, s->d) : sdpa_dot(one, other, s->d));
    }
}

/* A tile of the gradient: rows queries from i0 on, n keys from j0 on, of a head. */
typedef struct place {
    int64_t head, i0, rows, j0, n;
    const float *lse; /* of the head */
} place;

/* p and ds of a tile from its scores and dy v^T. */
static void grads_of(const sdpa_shape *s, int64_t deep, const place *t, const backward *f)
{
    for (int64_t r = 0; r < t->rows; r++) {
        const int64_t i = t->i0 + r, seen = seen_of(s, i, t->j0, t->n);
        float *p = f->p + r * TILE, *ds = f->ds + r * TILE;
        if (s->drop > 0.0f)
            sdpa_drop_row(s, t->head, i, t->j0, seen, ds);
        sdpa_grad_row(p, ds, seen, t->lse[i], f->delta[i]);
        if (s->drop > 0.0f)
            sdpa_drop_row(s, t->head, i, t->j0, seen, p);
    }
    if (deep == 2)
        sdpa_narrow_tiles(t->rows, f->p, f->ds, f->p2, f->ds2);
}

/* The same in 16 bits without dropout, two rows at a time. */
static void half_grads_of(const sdpa_shape *s, float scale, const place *t, const backward *f)
{
    for (int64_t r = 0; r < t->rows; r += 2) {
        sdpa_grad_line l[2] = {{0}};
        for (int64_t k = 0; k < 2 && r + k < t->rows; k++) {
            const int64_t i = t->i0 + r + k, at = (r + k) * TILE;
            l[k] = (sdpa_grad_line){f->p + at, f->ds + at, seen_of(s, i, t->j0, t->n),
                                    t->lse[i], f->delta[i]};
        }
        sdpa_grad_half(l, scale, f->p2 + r * TILE / 2, f->ds2 + r * TILE / 2);
    }
}

/* One tile of queries from i0 on against one of keys from j0 on. */
static void backward_tile(const sdpa_shape *s, int64_t deep, int64_t head, const float *bias,
                          const float *lse, int64_t i0, int64_t j0, const backward *f)
{
    const int64_t rows = least(TILE, s->tq - i0), n = least(TILE, s->tk - j0), w = width_of(s);
    const int64_t panel = words_of(s->d, deep), at = i0 / deep * w;
    const float later = scale_later(s, deep, bias),
                now = deep == 2 ? scale_of(s) / later : 1.0f;
    const place t = {head, i0, rows, j0, n, lse};
    scores_of(s, deep, f->q_rows + i0 * f->q_row, f->q_row, f->kt + j0 * panel, now, i0, rows,
              j0, n, f->p);
    scores_of(s, deep, f->dy_rows + i0 * f->dy_row, f->dy_row, f->vt + j0 * panel, 1.0f, i0,
              rows, j0, n, f->ds);
    if (bias)
        add_bias(s, bias, i0, rows, j0, n, f->p);
    if (deep == 2 && s->drop == 0.0f)
        half_grads_of(s, later, &t, f);
    else
        grads_of(s, deep, &t, f);
    down(s, deep, deep == 2 ? f->p2 : f->p, f->dy + at, w, i0, rows, j0, n, f->dv);
    down(s, deep, deep == 2 ? f->ds2 : f->ds, f->q + at, w, i0, rows, j0, n, f->dk);
    across(s, deep, f->ds, f->k + j0 / deep * w, w, i0, rows, j0, n, f->dq + i0 * w);
}

/* rows (n, width) go, times scale, to rows of a tensor from element `at` on. */
static void store(const sdpa_shape *s, int64_t deep, const float *from, int64_t n, float scale,
                  void *to, int64_t at, int64_t row)
{
    for (int64_t i = 0; i < n; i++)
        store_row(s, deep, from + i * width_of(s), scale, element(to, deep, at + i * row));
}

static void backward_head(const sdpa_shape *s, const sdpa_tensors *t, int64_t b, int64_t h,
                          backward *f)
{
    const int64_t w = width_of(s), deep = deep_of(t);
    const float *lse = t->lse + (b * s->heads + h) * s->tq;
    backward_load(s, t, b, h, f);
    for (int64_t j0 = 0; j0 < s->tk; j0 += TILE) {
        const int64_t n = least(TILE, s->tk - j0), unseen = j0 + s->tq - s->tk;
        memset(f->dk, 0, (size_t)(n * w) * sizeof *f->dk);
        memset(f->dv, 0, (size_t)(n * w) * sizeof *f->dv);
        for (int64_t i0 = s->causal && unseen > 0 ? unseen / TILE * TILE : 0; i0 < s->tq;
             i0 += TILE)
            backward_tile(s, deep, b * s->heads + h, bias_of(s, t->bias, b, h), lse, i0, j0, f);
        store(s, deep, f->dk, n, scale_of(s), t->dk, sdpa_at(&s->k, b, h, j0), s->k.t);
        store(s, deep, f->dv, n, 1.0f, t->dv, sdpa_at(&s->v, b, h, j0), s->v.t);
    }
    store(s, deep, f->dq, s->tq, deep == 2 ? scale_of(s) : 1.0f, t->dq, sdpa_at(&s->q, b, h, 0),
          s->q.t);
}

void sdpa_grad_run(const sdpa_shape *s, const sdpa_tensors *t, int threads, void *scratch)
{
    const int64_t n = s->batch * s->heads;
    const uint64_t own = thread_floats(backward_floats(s));
    const int used = threads_for(s, threads);
#pragma omp parallel for schedule(static) num_threads(used) if (used > 1)
    for (int k = 0; k < used; k++) {
        backward f = backward_at(s, (float *)scratch + (uint64_t)k * own);
        amx_begin();
        for (int64_t i = n * k / used; i < n * (k + 1) / used; i++)
            backward_head(s, t, i / s->heads, i % s->heads, &f);
        amx_end();
    }
}
