/* max_pool2d_op.c - the largest of each window, and where it was. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/onnx.h"
#include "common/simd.h"
#include "max_pool2d/max_pool2d.h"

#include <math.h>

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

/* n channels of one pixel, SIMD_LANES at most; x and y begin at the first of them. */
__attribute__((always_inline)) static inline void lanes(const pool_geometry *g,
                                                        const pool_window *w, int64_t n,
                                                        const float *x, float *y,
                                                        int32_t *index)
{
    float most[SIMD_LANES];
    int32_t where[SIMD_LANES];
    const int32_t first = (int32_t)(w->top * g->w + w->left);
    OP_LOOP
    for (int64_t k = 0; k < n; k++) {
        most[k] = x[first * g->c + k];
        where[k] = first;
    }
    for (int64_t r = w->top; r < w->bottom; r++) {
        for (int64_t s = w->left; s < w->right; s++) {
            const int32_t at = (int32_t)(r * g->w + s);
            const float *from = x + at * g->c;
            OP_LOOP
            for (int64_t k = 0; k < n; k++) {
                const int more = (from[k] > most[k]) | (from[k] != from[k]);
                most[k] = more ? from[k] : most[k];
                where[k] = more ? at : where[k];
            }
        }
    }
    OP_LOOP
    for (int64_t k = 0; k < n; k++) {
        y[k] = most[k];
        index[k] = where[k];
    }
}

/* Row i of y of one image. */
static void pool_row(const pool_geometry *g, int64_t i, const float *x, float *y,
                     int32_t *index)
{
    for (int64_t j = 0; j < g->ow; j++) {
        const pool_window w = pool_window_at(g, i, j);
        int64_t k = 0;
        for (; k + SIMD_LANES <= g->c; k += SIMD_LANES)
            lanes(g, &w, SIMD_LANES, x + k, y + j * g->c + k, index + j * g->c + k);
        if (k < g->c)
            lanes(g, &w, g->c - k, x + k, y + j * g->c + k, index + j * g->c + k);
    }
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const pool_geometry g = pool_geometry_of(c->attr, &c->in[0], &c->out[0]);
    const float *x = in[0];
    float *y = out[0];
    int32_t *index = out[1];
    const int threads = op_threads(c, tutti_numel(&c->in[0]));
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < g.b * g.oh; row++)
        pool_row(&g, row % g.oh, x + row / g.oh * g.h * g.w * g.c, y + row * g.ow * g.c,
                 index + row * g.ow * g.c);
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

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

static tutti_value max_pool2d_onnx(const tutti_onnx *o)
{
    return pool_onnx(o, "MaxPool", 0);
}

OP_TRAITS(max_pool2d, KEEP, APART, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER, .batch_nin = 1,
          .batch_in = 1, .batch_out = 3, .onnx = max_pool2d_onnx);
const tutti_op tutti_op_max_pool2d = {.struct_size = sizeof(tutti_op),
                                      .traits = &max_pool2d_traits,
                                      .flags = TUTTI_OP_REPRODUCIBLE,
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
