/* sdpa_plain.c - attention and its gradient out of simpler operations. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa/sdpa.h"

#include <math.h>

/* What a key that is not seen adds to its score. */
#define UNSEEN (-1e30)

/* (Tq, Tk): 0 where query i sees key j, UNSEEN elsewhere. */
static tutti_value mask(tutti_graph *g, int64_t tq, int64_t tk)
{
    const int64_t column[2] = {tq, 1}, row[2] = {1, tk};
    const tutti_attr f32 = tutti_attr_i("dtype", TUTTI_F32), more = tutti_attr_i("kind", 4);
    const tutti_attr nq = tutti_attr_i("size", tq), nk = tutti_attr_i("size", tk);
    const tutti_value i =
        g->emit(g, "iota", NULL, 0, (const tutti_attr[]){nq, f32}, 2, NULL, 0);
    const tutti_value j =
        g->emit(g, "iota", NULL, 0, (const tutti_attr[]){nk, f32}, 2, NULL, 0);
    const tutti_value in[2] = {
        tutti_reshape(g, j, row, 2),
        tutti_reshape(g, tutti_affine(g, i, 1.0, (double)(tk - tq)), column, 2)};
    return tutti_affine(g, g->emit(g, "cmp", in, 2, &more, 1, NULL, 0), UNSEEN, 0.0);
}

static double scale_of(tutti_graph *g, const sdpa_attr *a, const sdpa_values *v)
{
    const double d = (double)g->desc(g, v->q)->dim[3];
    return a->scale != 0.0 ? a->scale : 1.0 / sqrt(d);
}

/* (B, H, Tq, Tk) */
static tutti_value scores(tutti_graph *g, const sdpa_attr *a, const sdpa_values *v)
{
    tutti_value s = tutti_matmul(g, v->q, v->k, 0, 0, 1);
    s = tutti_affine(g, s, scale_of(g, a, v), 0.0);
    if (v->bias)
        s = tutti_add(g, s, v->bias);
    if (a->causal)
        s = tutti_add(g, s, mask(g, g->desc(g, v->q)->dim[2], g->desc(g, v->k)->dim[2]));
    return s;
}

/* As dropout on x; x itself without. */
static tutti_value dropped(tutti_graph *g, const sdpa_attr *a, tutti_value x)
{
    const tutti_attr attr[2] = {tutti_attr_f("p", a->dropout),
                                tutti_attr_i("stream", a->stream)};
    return a->dropout > 0.0 ? g->emit(g, "dropout", &x, 1, attr, 2, NULL, 0) : x;
}

/* (B, H, T) beside the keys. */
static tutti_value column(tutti_graph *g, tutti_value v)
{
    tutti_desc d = *g->desc(g, v);
    d.dim[d.rank++] = 1;
    return tutti_reshape(g, v, d.dim, (uint32_t)d.rank);
}

void sdpa_plain(tutti_graph *g, const sdpa_attr *a, sdpa_values *v)
{
    const int64_t last = 3;
    const tutti_value s = scores(g, a, v);
    const tutti_value max = tutti_reduce(g, "max_reduce", s, &last, 1, 1);
    const tutti_value e = tutti_op1(g, "exp", tutti_sub(g, s, max));
    const tutti_value sum = tutti_reduce(g, "sum", e, &last, 1, 1);
    v->y = tutti_matmul(g, dropped(g, a, tutti_div(g, e, sum)), v->v, 0, 0, 0);
    const tutti_value lse = tutti_add(g, tutti_op1(g, "log", sum), max);
    const tutti_desc d = *g->desc(g, lse);
    v->lse = tutti_reshape(g, lse, d.dim, 3);
}

void sdpa_plain_grad(tutti_graph *g, const sdpa_attr *a, const sdpa_values *v, tutti_value dy,
                     tutti_value dlse, tutti_value d[4])
{
    const int64_t last = 3;
    const double scale = scale_of(g, a, v);
    const tutti_value s = scores(g, a, v);
    const tutti_value p = tutti_op1(g, "exp", tutti_sub(g, s, column(g, v->lse)));
    tutti_value ds = 0;
    d[2] = 0;
    if (dy) {
        const tutti_value dp = dropped(g, a, tutti_matmul(g, dy, v->v, 0, 0, 1));
        const tutti_value delta = tutti_reduce(g, "sum", tutti_mul(g, dy, v->y), &last, 1, 1);
        ds = tutti_sub(g, dp, delta);
        d[2] = tutti_matmul(g, dropped(g, a, p), dy, 0, 1, 0);
    }
    if (dlse)
        ds = ds ? tutti_add(g, ds, column(g, dlse)) : column(g, dlse);
    ds = tutti_mul(g, p, ds);
    d[0] = tutti_affine(g, tutti_matmul(g, ds, v->k, 0, 0, 0), scale, 0.0);
    d[1] = tutti_affine(g, tutti_matmul(g, ds, v->q, 0, 1, 0), scale, 0.0);
    d[3] = 0;
    if (v->bias) {
        const tutti_desc b = *g->desc(g, v->bias);
        const tutti_attr shape = tutti_attr_list("shape", b.dim, (uint32_t)b.rank);
        d[3] = g->emit(g, "sum_to", &ds, 1, &shape, 1, NULL, 0);
    }
}
