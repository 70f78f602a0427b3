/* avg_pool2d_op.c - the mean of each window, and its gradient: each is the other's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/launch.h"
#include "common/onnx.h"
#include "common/pool.h"

#include <string.h>

static const tutti_attr_field fields[] = {
    OP_FIELD_LIST(pool_attr, kernel), OP_FIELD_LIST(pool_attr, stride),
    OP_FIELD_LIST(pool_attr, padding), OP_FIELD_I64(pool_attr, count_include_pad, 1)};

static const tutti_attr_field grad_fields[] = {
    OP_FIELD_LIST(pool_attr, kernel), OP_FIELD_LIST(pool_attr, stride),
    OP_FIELD_LIST(pool_attr, padding), OP_FIELD_I64(pool_attr, count_include_pad, 1),
    OP_FIELD_LIST(pool_attr, input_shape)};

/* What one element of the window weighs. */
static double weight(const pool_attr *a, const pool_geometry *g, const pool_window *w)
{
    const int64_t inside = (w->bottom - w->top) * (w->right - w->left);
    return 1.0 / (double)(a->count_include_pad ? g->kh * g->kw : inside);
}

/* ---- avg_pool2d: x (B, H, W, C) -> y (B, OH, OW, C) ---- */

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = pool_shape("avg_pool2d", c->attr, &c->in[0], out, err);
    return s ? s : op_want_f32("avg_pool2d", "x", &c->in[0], err);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const pool_geometry g = pool_geometry_of(c->attr, &c->in[0], &c->out[0]);
    for (int64_t at = 0; at < g.b * g.oh * g.ow * g.c; at++) {
        const int64_t k = at % g.c, j = at / g.c % g.ow, i = at / g.c / g.ow % g.oh;
        const double *x = in[0] + at / g.c / g.ow / g.oh * g.h * g.w * g.c + k;
        const pool_window w = pool_window_at(&g, i, j);
        out[0][at] = 0.0;
        for (int64_t r = w.top; r < w.bottom; r++)
            for (int64_t s = w.left; s < w.right; s++)
                out[0][at] += weight(c->attr, &g, &w) * x[(r * g.w + s) * g.c];
    }
    return TUTTI_OK;
}

/* to(k) += scale from(k) */
static void add_scaled(float scale, const float *restrict from, float *restrict to, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        to[k] += scale * from[k];
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const pool_geometry g = pool_geometry_of(c->attr, &c->in[0], &c->out[0]);
    const float *x = in[0];
    float *y = out[0];
    const int threads = op_threads(c, tutti_numel(&c->in[0]));
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < g.b * g.oh; row++) {
        const float *image = x + row / g.oh * g.h * g.w * g.c;
        for (int64_t j = 0; j < g.ow; j++) {
            const pool_window w = pool_window_at(&g, row % g.oh, j);
            const float scale = (float)weight(c->attr, &g, &w);
            float *to = y + (row * g.ow + j) * g.c;
            memset(to, 0, (size_t)g.c * sizeof *to);
            for (int64_t r = w.top; r < w.bottom; r++)
                for (int64_t s = w.left; s < w.right; s++)
                    add_scaled(scale, image + (r * g.w + s) * g.c, to, g.c);
        }
    }
    return TUTTI_OK;
}

/* ---- on the GPU: <op>_1 or <op>_8 of avg_pool2d.cu is the state, by the channels of a thread ---- */

static int64_t width_of(const tutti_op_call *c)
{
    return c->out[0].dim[3] % 8 == 0 ? 8 : 1;
}

static tutti_status cuda_function(const tutti_op_call *c, const char *one, const char *eight,
                                  void **ret_state, tutti_error *err)
{
    return CUDA_FUNCTION(c, width_of(c) == 8 ? eight : one, ret_state, err, sizeof(cuda_tensor),
                         sizeof(cuda_tensor), sizeof(pool_geometry), sizeof(int32_t));
}

static tutti_status cuda_pool(void *state, const tutti_op_call *c, const void *const *in,
                              void *const *out, pool_geometry g)
{
    const int64_t n = tutti_numel(&c->out[0]) / width_of(c);
    cuda_tensor from = cuda_in(c, in, 0), to = cuda_out(c, out, 0);
    int32_t pad = ((const pool_attr *)c->attr)->count_include_pad != 0;
    void *const args[] = {&from, &to, &g, &pad};
    return n == 0 ? TUTTI_OK
                  : cuda_launch(c->cuda, state, cuda_blocks(c->cuda, n), CUDA_BLOCK, 0, args);
}

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return cuda_function(c, "avg_pool2d_1", "avg_pool2d_8", ret_state, err);
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)scratch;
    return cuda_pool(state, c, in, out, pool_geometry_of(c->attr, &c->in[0], &c->out[0]));
}

static tutti_status grad_cuda_prepare(const tutti_op_call *c, void **ret_state,
                                      uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return cuda_function(c, "avg_pool2d_grad_1", "avg_pool2d_grad_8", ret_state, err);
}

static tutti_status grad_cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                                  void *const *out, void *scratch)
{
    (void)scratch;
    return cuda_pool(state, c, in, out, pool_geometry_of(c->attr, &c->out[0], &c->in[0]));
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, cuda_prepare, cuda_run, NULL};
static const tutti_kernel grad_cuda = {sizeof(tutti_kernel), 0, grad_cuda_prepare,
                                       grad_cuda_run, NULL};

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const pool_attr *a = n->attr;
    const tutti_desc x = *g->desc(g, n->in[0]);
    if (n->need & 1)
        dx[0] = pool_emit(g, "avg_pool2d_grad", a, dy, 1, x.dim, &a->count_include_pad);
    return g->status(g);
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

static tutti_value avg_pool2d_onnx(const tutti_onnx *o)
{
    return pool_onnx(o, "AveragePool", 1);
}

OP_TRAITS(avg_pool2d, KEEP, APART, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER, .batch_nin = 1,
          .batch_in = 1, .batch_out = 1, .onnx = avg_pool2d_onnx);
extern const tutti_op tutti_op_avg_pool2d;
const tutti_op tutti_op_avg_pool2d = {.struct_size = sizeof(tutti_op),
                                      .traits = &avg_pool2d_traits,
                                      .flags = TUTTI_OP_REPRODUCIBLE,
                                      .name = "avg_pool2d",
                                      .nin_min = 1,
                                      .nin_max = 1,
                                      .nout = 1,
                                      .attr_size = sizeof(pool_attr),
                                      .fields = fields,
                                      .nfields = sizeof fields / sizeof *fields,
                                      .infer = infer,
                                      .vjp = vjp,
                                      .reference = reference,
                                      .cpu = &cpu,
                                      .cuda = &cuda};

/* ---- avg_pool2d_grad: dy -> dx ---- */

static tutti_status grad_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    return pool_input("avg_pool2d_grad", c->attr, &c->in[0], out, err);
}

static tutti_status grad_reference(const tutti_op_call *c, const double *const *in,
                                   double *const *out)
{
    const pool_geometry g = pool_geometry_of(c->attr, &c->out[0], &c->in[0]);
    memset(out[0], 0, (size_t)tutti_numel(&c->out[0]) * sizeof(double));
    for (int64_t at = 0; at < g.b * g.oh * g.ow * g.c; at++) {
        const int64_t k = at % g.c, j = at / g.c % g.ow, i = at / g.c / g.ow % g.oh;
        double *dx = out[0] + at / g.c / g.ow / g.oh * g.h * g.w * g.c + k;
        const pool_window w = pool_window_at(&g, i, j);
        for (int64_t r = w.top; r < w.bottom; r++)
            for (int64_t s = w.left; s < w.right; s++)
                dx[(r * g.w + s) * g.c] += weight(c->attr, &g, &w) * in[0][at];
    }
    return TUTTI_OK;
}

/* One pixel of dx: the sum over the windows that cover it, so that no two threads write there. */
static void grad_pixel(const pool_attr *a, const pool_geometry *g, int64_t r, int64_t s,
                       const float *dy, float *dx)
{
    const int64_t i_end = pool_end(r, g->sh, g->ph, g->oh),
                  j_end = pool_end(s, g->sw, g->pw, g->ow);
    memset(dx, 0, (size_t)g->c * sizeof *dx);
    for (int64_t i = pool_first(r, g->kh, g->sh, g->ph); i < i_end; i++) {
        for (int64_t j = pool_first(s, g->kw, g->sw, g->pw); j < j_end; j++) {
            const pool_window w = pool_window_at(g, i, j);
            add_scaled((float)weight(a, g, &w), dy + (i * g->ow + j) * g->c, dx, g->c);
        }
    }
}

static tutti_status grad_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const pool_geometry g = pool_geometry_of(c->attr, &c->out[0], &c->in[0]);
    const float *dy = in[0];
    float *dx = out[0];
    const int threads = op_threads(c, tutti_numel(&c->out[0]));
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < g.b * g.h; row++)
        for (int64_t s = 0; s < g.w; s++)
            grad_pixel(c->attr, &g, row % g.h, s, dy + row / g.h * g.oh * g.ow * g.c,
                       dx + (row * g.w + s) * g.c);
    return TUTTI_OK;
}

static tutti_status grad_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *e,
                             tutti_value *d)
{
    const pool_attr *a = n->attr;
    if (n->need & 1)
        d[0] = pool_emit(g, "avg_pool2d", a, e, 1, NULL, &a->count_include_pad);
    return g->status(g);
}

static const tutti_kernel grad_cpu = {sizeof(tutti_kernel), 0, NULL, grad_run, NULL};

OP_TRAITS(avg_pool2d_grad, KEEP, APART, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER,
          .batch_nin = 1, .batch_in = 1, .batch_out = 1);
extern const tutti_op tutti_op_avg_pool2d_grad;
const tutti_op tutti_op_avg_pool2d_grad = {.struct_size = sizeof(tutti_op),
                                           .traits = &avg_pool2d_grad_traits,
                                           .flags = TUTTI_OP_REPRODUCIBLE,
                                           .name = "avg_pool2d_grad",
                                           .nin_min = 1,
                                           .nin_max = 1,
                                           .nout = 1,
                                           .attr_size = sizeof(pool_attr),
                                           .fields = grad_fields,
                                           .nfields = sizeof grad_fields / sizeof *grad_fields,
                                           .infer = grad_infer,
                                           .vjp = grad_vjp,
                                           .reference = grad_reference,
                                           .cpu = &grad_cpu,
                                           .cuda = &grad_cuda};
