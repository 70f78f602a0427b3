/* max_pool2d_grad_op.c - dy back to where the largest were, and x from there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "max_pool2d/max_pool2d.h"

#include <string.h>

#include <omp.h>

static const tutti_attr_field fields[] = {
    OP_FIELD_LIST(pool_attr, kernel), OP_FIELD_LIST(pool_attr, stride),
    OP_FIELD_LIST(pool_attr, padding), OP_FIELD_LIST(pool_attr, input_shape)};

static tutti_status want_index(const char *op, const tutti_desc *index, const tutti_desc *y,
                               tutti_error *err)
{
    char got[96], want[96];
    tutti_desc d = *y;
    d.dtype = TUTTI_I32;
    if (index->dtype == TUTTI_I32 && tutti_same_shape(index, y))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_SHAPE, "%s: index is %s, want %s", op,
                      tutti_desc_text(index, got, sizeof got),
                      tutti_desc_text(&d, want, sizeof want));
}

/* ---- max_pool2d_grad: dy, index -> dx ---- */

static tutti_status grad_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = pool_input("max_pool2d_grad", c->attr, &c->in[0], &out[0], err);
    return s ? s : want_index("max_pool2d_grad", &c->in[1], &c->in[0], err);
}

static tutti_status grad_reference(const tutti_op_call *c, const double *const *in,
                                   double *const *out)
{
    const pool_geometry g = pool_geometry_of(c->attr, &c->out[0], &c->in[0]);
    memset(out[0], 0, (size_t)tutti_numel(&c->out[0]) * sizeof(double));
    for (int64_t at = 0; at < g.b * g.oh * g.ow * g.c; at++) {
        const int64_t b = at / (g.oh * g.ow * g.c), index = (int64_t)in[1][at];
        if (index < 0 || index >= g.h * g.w)
            return TUTTI_E_RANGE;
        out[0][(b * g.h * g.w + index) * g.c + at % g.c] += in[0][at];
    }
    return TUTTI_OK;
}

/* Row r of an image's dx: to each pixel of a window what the window found largest there.  dy is bf16 where `low`. */
SIMD_INLINE void grad_row(const pool_geometry *g, int64_t r, const void *dy,
                          const int32_t *index, float *restrict dx, int low)
{
    const int64_t n = g->c, end = pool_end(r, g->sh, g->ph, g->oh);
    memset(dx, 0, (size_t)(g->w * n) * sizeof *dx);
    for (int64_t i = pool_first(r, g->kh, g->sh, g->ph); i < end; i++) {
        for (int64_t j = 0; j < g->ow; j++) {
            const pool_window w = pool_window_at(g, i, j);
            const float *from = (const float *)dy + (i * g->ow + j) * n;
            const uint16_t *from_bf16 = (const uint16_t *)dy + (i * g->ow + j) * n;
            const int32_t *where = index + (i * g->ow + j) * n;
            for (int64_t s = w.left; s < w.right; s++) {
                const int32_t at = (int32_t)(r * g->w + s);
                for (int64_t k = 0; k < n; k++) {
                    const float x = low ? half_from_bf16(from_bf16[k]) : from[k];
                    dx[s * n + k] += where[k] == at ? x : 0.0f;
                }
            }
        }
    }
}

/* Scratch for BF16: a row of dx in f32 per thread. */
static tutti_status grad_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_state, (void)err;
    if (!max_pool2d_takes(c))
        return TUTTI_E_UNSUPPORTED; /* the host converts around it */
    if (max_pool2d_is_bf16(c))
        *ret_scratch = (uint64_t)c->threads * (uint64_t)(c->out[0].dim[2] * c->out[0].dim[3]) *
                       sizeof(float);
    return TUTTI_OK;
}

static tutti_status grad_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)state;
    const pool_geometry g = pool_geometry_of(c->attr, &c->out[0], &c->in[0]);
    const int threads = op_threads(c, tutti_numel(&c->out[0])), low = max_pool2d_is_bf16(c);
    const int64_t line = g.w * g.c;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < g.b * g.h; row++) {
        const int64_t image = row / g.h * g.oh * g.ow * g.c;
        const int32_t *index = (const int32_t *)in[1] + image;
        if (low) {
            float *dx = (float *)scratch + omp_get_thread_num() * line;
            grad_row(&g, row % g.h, (const uint16_t *)in[0] + image, index, dx, 1);
            half_downcast(dx, (uint16_t *)out[0] + row * line, TUTTI_BF16, line);
        } else {
            grad_row(&g, row % g.h, (const float *)in[0] + image, index,
                     (float *)out[0] + row * line, 0);
        }
    }
    return TUTTI_OK;
}

static tutti_status grad_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *e,
                             tutti_value *d)
{
    const tutti_value in[2] = {e[0], n->in[1]};
    if (n->need & 1)
        d[0] = pool_emit(g, "max_pool2d_gather", n->attr, in, 2, NULL, NULL);
    return g->status(g);
}

static const tutti_kernel grad_cpu = {sizeof(tutti_kernel), 0, grad_prepare, grad_run, NULL};

OP_TRAITS(max_pool2d_grad, KEEP, APART, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER,
          .batch_nin = 2, .batch_in = 3, .batch_out = 1);
const tutti_op tutti_op_max_pool2d_grad = {.struct_size = sizeof(tutti_op),
                                           .traits = &max_pool2d_grad_traits,
                                           .flags = TUTTI_OP_BF16 | TUTTI_OP_REPRODUCIBLE,
                                           .name = "max_pool2d_grad",
                                           .nin_min = 2,
                                           .nin_max = 2,
                                           .nout = 1,
                                           .attr_size = sizeof(pool_attr),
                                           .fields = fields,
                                           .nfields = 4,
                                           .infer = grad_infer,
                                           .vjp = grad_vjp,
                                           .reference = grad_reference,
                                           .cpu = &grad_cpu,
                                           .cuda = &max_pool2d_grad_cuda};

/* ---- max_pool2d_gather: x, index -> y ---- */

static tutti_status gather_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    tutti_status s = pool_shape("max_pool2d_gather", c->attr, &c->in[0], &out[0], err);
    if (!s)
        s = op_want_f32("max_pool2d_gather", "x", &c->in[0], err);
    return s ? s : want_index("max_pool2d_gather", &c->in[1], &out[0], err);
}

static tutti_status gather_reference(const tutti_op_call *c, const double *const *in,
                                     double *const *out)
{
    const pool_geometry g = pool_geometry_of(c->attr, &c->in[0], &c->out[0]);
    for (int64_t at = 0; at < g.b * g.oh * g.ow * g.c; at++) {
        const int64_t b = at / (g.oh * g.ow * g.c), index = (int64_t)in[1][at];
        if (index < 0 || index >= g.h * g.w)
            return TUTTI_E_RANGE;
        out[0][at] = in[0][(b * g.h * g.w + index) * g.c + at % g.c];
    }
    return TUTTI_OK;
}

static tutti_status gather_run(void *state, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const pool_geometry g = pool_geometry_of(c->attr, &c->in[0], &c->out[0]);
    const float *x = in[0];
    const int32_t *index = in[1];
    float *y = out[0];
    const int64_t image = g.oh * g.ow * g.c, pixels = g.h * g.w, total = g.b * image;
    const int threads = op_threads(c, total);
    int outside = 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)                \
    reduction(|                                                                                \
              : outside)
    for (int64_t at = 0; at < total; at++) {
        const int fits = index[at] >= 0 && index[at] < pixels;
        outside |= !fits;
        y[at] = fits ? x[(at / image * pixels + index[at]) * g.c + at % g.c] : 0.0f;
    }
    return outside ? TUTTI_E_RANGE : TUTTI_OK;
}

static tutti_status gather_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                               tutti_value *dx)
{
    const tutti_desc x = *g->desc(g, n->in[0]);
    const tutti_value in[2] = {dy[0], n->in[1]};
    if (n->need & 1)
        dx[0] = pool_emit(g, "max_pool2d_grad", n->attr, in, 2, x.dim, NULL);
    return g->status(g);
}

static const tutti_kernel gather_cpu = {sizeof(tutti_kernel), 0, NULL, gather_run, NULL};

OP_PLAIN(max_pool2d_gather);
const tutti_op tutti_op_max_pool2d_gather = {.struct_size = sizeof(tutti_op),
                                             .traits = &max_pool2d_gather_traits,
                                             .flags = TUTTI_OP_REPRODUCIBLE,
                                             .name = "max_pool2d_gather",
                                             .nin_min = 2,
                                             .nin_max = 2,
                                             .nout = 1,
                                             .attr_size = sizeof(pool_attr),
                                             .fields = fields,
                                             .nfields = 3,
                                             .infer = gather_infer,
                                             .vjp = gather_vjp,
                                             .reference = gather_reference,
                                             .cpu = &gather_cpu,
                                             .cuda = &max_pool2d_gather_cuda};
