/* max_pool2d_op.c - the largest of each window, and where it was. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/onnx.h"
#include "max_pool2d/max_pool2d.h"

#include <math.h>

/* Registers of channels that go through a window together, so that comparing one waits for no other. */
enum { VECS = 4 };

static const tutti_attr_field fields[] = {OP_FIELD_LIST(pool_attr, kernel),
                                          OP_FIELD_LIST(pool_attr, stride),
                                          OP_FIELD_LIST(pool_attr, padding)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    char text[96];
    tutti_status s = pool_shape("max_pool2d", c->attr, &c->in[0], &out[0], err);
    if (!s)
        s = op_want_f32("max_pool2d", "x", &c->in[0], err);
    if (!s && c->in[0].dim[1] > INT32_MAX / (c->in[0].dim[2] + 1))
        s = tutti_fail(err, TUTTI_E_RANGE, "max_pool2d: x is %s, too large for an I32 index",
                       tutti_desc_text(&c->in[0], text, sizeof text));
    out[1] = out[0];
    out[1].dtype = TUTTI_I32;
    return s;
}

/* A NaN counts as the largest, as the last one of several; of equal values the first wins. */
static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const pool_geometry g = pool_geometry_of(c->attr, &c->in[0], &c->out[0]);
    for (int64_t at = 0; at < g.b * g.oh * g.ow * g.c; at++) {
        const int64_t k = at % g.c, j = at / g.c % g.ow, i = at / g.c / g.ow % g.oh;
        const double *x = in[0] + at / g.c / g.ow / g.oh * g.h * g.w * g.c + k;
        const pool_window w = pool_window_at(&g, i, j);
        int64_t best = w.top * g.w + w.left;
        for (int64_t r = w.top; r < w.bottom; r++)
            for (int64_t s = w.left; s < w.right; s++)
                if (x[(r * g.w + s) * g.c] > x[best * g.c] || isnan(x[(r * g.w + s) * g.c]))
                    best = r * g.w + s;
        out[0][at] = x[best * g.c];
        out[1][at] = (double)best;
    }
    return TUTTI_OK;
}

/* Where `more` is all ones x, else rest. */
SIMD_INLINE void choose(const simd_i32 *more, const simd_i32 *x, simd_i32 *rest)
{
    *rest = (*x & *more) | (*rest & ~*more);
}

/* A register from element `at` on. */
SIMD_INLINE void load(const void *x, int64_t at, simd_f32 *ret, int low)
{
    if (low)
        simd_load_bf16((const uint16_t *)x + at, ret);
    else
        *ret = *(const simd_f32 *)((const float *)x + at);
}

/* `vecs` registers of channels of one pixel from channel k on; `vecs` and `low` are constants after inlining. */
SIMD_INLINE void registers(const pool_geometry *g, const pool_window *w, int vecs, int64_t k,
                           const void *x, void *y, int32_t *index, int low)
{
    simd_f32 most[VECS];
    simd_i32 where[VECS];
    const simd_f32 infinity = (simd_f32){0} + INFINITY;
    const int32_t first = (int32_t)(w->top * g->w + w->left);
    for (int v = 0; v < vecs; v++) {
        load(x, first * g->c + k + v * SIMD_WIDTH, &most[v], low);
        where[v] = (simd_i32){0} + first;
    }
    for (int64_t r = w->top; r < w->bottom; r++)
        for (int64_t s = w->left; s < w->right; s++) {
            const int32_t at = (int32_t)(r * g->w + s);
            const simd_i32 here = (simd_i32){0} + at;
            for (int v = 0; v < vecs; v++) {
                simd_f32 from;
                load(x, at * g->c + k + v * SIMD_WIDTH, &from, low);
                const simd_i32 more =
                    (simd_i32)(from > most[v]) | ~(simd_i32)(from <= infinity); /* or a NaN */
                choose(&more, (const simd_i32 *)&from, (simd_i32 *)&most[v]);
                choose(&more, &here, &where[v]);
            }
        }
    for (int v = 0; v < vecs; v++) {
        if (low)
            simd_store_bf16(&most[v], (uint16_t *)y + k + v * SIMD_WIDTH);
        else
            *(simd_f32 *)((float *)y + k + v * SIMD_WIDTH) = most[v];
        *(simd_i32 *)(index + k + v * SIMD_WIDTH) = where[v];
    }
}

/* One channel. */
SIMD_INLINE void channel(const pool_geometry *g, const pool_window *w, int64_t k, const void *x,
                         void *y, int32_t *index, int low)
{
    float most = 0.0f;
    int32_t where = -1;
    for (int64_t r = w->top; r < w->bottom; r++)
        for (int64_t s = w->left; s < w->right; s++) {
            const int32_t at = (int32_t)(r * g->w + s);
            const float from = low ? half_from_bf16(((const uint16_t *)x)[at * g->c + k])
                                   : ((const float *)x)[at * g->c + k];
            if (where < 0 || from > most || from != from) {
                most = from;
                where = at;
            }
        }
    index[k] = where;
    if (low)
        ((uint16_t *)y)[k] = half_to_bf16(most);
    else
        ((float *)y)[k] = most;
}

/* Row i of y of one image. */
SIMD_INLINE void pool_row(const pool_geometry *g, int64_t i, const char *x, char *y,
                          int32_t *index, int low)
{
    for (int64_t j = 0; j < g->ow; j++, y += g->c * (low ? 2 : 4), index += g->c) {
        const pool_window w = pool_window_at(g, i, j);
        int64_t k = 0;
        for (; k + VECS * SIMD_WIDTH <= g->c; k += VECS * SIMD_WIDTH)
            registers(g, &w, VECS, k, x, y, index, low);
        for (; k + SIMD_WIDTH <= g->c; k += SIMD_WIDTH)
            registers(g, &w, 1, k, x, y, index, low);
        if (g->c >= SIMD_WIDTH) {
            if (k < g->c) /* the last ones, some of them once more */
                registers(g, &w, 1, g->c - SIMD_WIDTH, x, y, index, low);
            continue;
        }
        for (; k < g->c; k++)
            channel(g, &w, k, x, y, index, low);
    }
}

/* Row `row` of all rows of y. */
SIMD_INLINE void pool_one(const pool_geometry *g, int64_t row, const char *x, char *y,
                          int32_t *index, int low)
{
    const int64_t size = low ? 2 : 4;
    pool_row(g, row % g->oh, x + row / g->oh * g->h * g->w * g->c * size,
             y + row * g->ow * g->c * size, index + row * g->ow * g->c, low);
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)ret_scratch, (void)err;
    return max_pool2d_takes(c) ? TUTTI_OK
                               : TUTTI_E_UNSUPPORTED; /* the host converts around it */
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const pool_geometry g = pool_geometry_of(c->attr, &c->in[0], &c->out[0]);
    const int threads = op_threads(c, tutti_numel(&c->in[0])), low = max_pool2d_is_bf16(c);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < g.b * g.oh; row++) {
        if (low)
            pool_one(&g, row, in[0], out[0], out[1], 1);
        else
            pool_one(&g, row, in[0], out[0], out[1], 0);
    }
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const tutti_desc x = *g->desc(g, n->in[0]);
    const tutti_value in[2] = {dy[0], n->out[1]};
    if (n->need & 1)
        dx[0] = pool_emit(g, "max_pool2d_grad", n->attr, in, 2, x.dim, NULL);
    return g->status(g);
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, NULL};

static tutti_value max_pool2d_onnx(const tutti_onnx *o)
{
    return pool_onnx(o, "MaxPool", 0);
}

OP_TRAITS(max_pool2d, KEEP, APART, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER, .batch_nin = 1,
          .batch_in = 1, .batch_out = 3, .onnx = max_pool2d_onnx);
const tutti_op tutti_op_max_pool2d = {.struct_size = sizeof(tutti_op),
                                      .traits = &max_pool2d_traits,
                                      .flags = TUTTI_OP_BF16 | TUTTI_OP_REPRODUCIBLE,
                                      .name = "max_pool2d",
                                      .nin_min = 1,
                                      .nin_max = 1,
                                      .nout = 2,
                                      .attr_size = sizeof(pool_attr),
                                      .fields = fields,
                                      .nfields = sizeof fields / sizeof *fields,
                                      .infer = infer,
                                      .vjp = vjp,
                                      .reference = reference,
                                      .cpu = &cpu,
                                      .cuda = &max_pool2d_cuda};
