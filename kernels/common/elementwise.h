/* elementwise.h - whole descriptors for unary and binary operations from one line of maths. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_ELEMENTWISE_H
#define KERNELS_COMMON_ELEMENTWISE_H

#include "common/broadcast.h"
#include "common/op_util.h"

/* ---- y[i] = fn(x[i]) ---- */

typedef void (*elementwise_loop)(const void *attr, const float *x, float *y, int64_t n);

/* Runs `loop` over all of x, a share for each thread. */
static inline void elementwise_rows(const tutti_op_call *c, const float *x, float *y,
                                    elementwise_loop loop)
{
    const int64_t n = tutti_numel(&c->in[0]);
    const int threads = op_threads(c, n);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int k = 0; k < threads; k++) {
        int64_t first;
        const int64_t count = op_share(n, k, threads, &first);
        loop(c->attr, x + first, y + first, count);
    }
}

/* Defines tutti_op_<name> for f32 (N) -> f32 (N).  `f32` and `f64` are expressions in x and, with
 * attributes, in `a`; `vjp_` is its gradient rule. */
#define OP_UNARY_ATTR(op, attr_type, fields_, nfields_, f32, f64, vjp_)                        \
    static tutti_status op##_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)  \
    {                                                                                          \
        out[0] = c->in[0];                                                                     \
        return op_want_f32(#op, "x", &c->in[0], err);                                          \
    }                                                                                          \
    static tutti_status op##_reference(const tutti_op_call *c, const double *const *in,        \
                                       double *const *out)                                     \
    {                                                                                          \
        const attr_type *a = c->attr;                                                          \
        (void)a;                                                                               \
        for (int64_t i = 0, n = tutti_numel(&c->in[0]); i < n; i++) {                          \
            const double x = in[0][i];                                                         \
            out[0][i] = (f64);                                                                 \
        }                                                                                      \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    OP_SIMD static void op##_loop(const void *attr, const float *in, float *y, int64_t n)      \
    {                                                                                          \
        const attr_type *a = attr;                                                             \
        (void)a;                                                                               \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const float x = in[i];                                                             \
            y[i] = (f32);                                                                      \
        }                                                                                      \
    }                                                                                          \
    static tutti_status op##_run(void *state, const tutti_op_call *c, const void *const *in,   \
                                 void *const *out, void *scratch)                              \
    {                                                                                          \
        (void)state, (void)scratch;                                                            \
        elementwise_rows(c, in[0], out[0], op##_loop);                                         \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static const tutti_kernel op##_cpu = {sizeof(tutti_kernel), 1, NULL, op##_run, NULL};      \
    extern const tutti_op tutti_op_##op;                                                       \
    const tutti_op tutti_op_##op = {.struct_size = sizeof(tutti_op),                           \
                                    .flags = TUTTI_OP_ELEMENTWISE,                             \
                                    .name = #op,                                               \
                                    .nin_min = 1,                                              \
                                    .nin_max = 1,                                              \
                                    .nout = 1,                                                 \
                                    .attr_size = (nfields_) ? sizeof(attr_type) : 0,           \
                                    .fields = fields_,                                         \
                                    .nfields = nfields_,                                       \
                                    .infer = op##_infer,                                       \
                                    .vjp = vjp_,                                               \
                                    .reference = op##_reference,                               \
                                    .cpu = &op##_cpu};

#define OP_UNARY(op, f32, f64, vjp_) OP_UNARY_ATTR(op, char, NULL, 0, f32, f64, vjp_)

/* ---- y = fn(a, b), broadcast ---- */

/* Defines tutti_op_<name>; `f32` and `f64` are expressions in x (from a) and y (from b). */
#define OP_BINARY(op, flags_, f32, f64, vjp_)                                                  \
    static tutti_status op##_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)  \
    {                                                                                          \
        const tutti_status s = op_want_f32(#op, "a", &c->in[0], err);                          \
        if (s || op_want_f32(#op, "b", &c->in[1], err))                                        \
            return s ? s : TUTTI_E_ARG;                                                        \
        return broadcast_shape(#op, &c->in[0], &c->in[1], out, err);                           \
    }                                                                                          \
    static tutti_status op##_reference(const tutti_op_call *c, const double *const *in,        \
                                       double *const *out)                                     \
    {                                                                                          \
        const broadcast b = broadcast_make(&c->in[0], &c->in[1], &c->out[0]);                  \
        for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n; i++) {                         \
            int64_t ia, ib;                                                                    \
            broadcast_at(&b, i, &ia, &ib);                                                     \
            const double x = in[0][ia], y = in[1][ib];                                         \
            out[0][i] = (f64);                                                                 \
        }                                                                                      \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    OP_SIMD static void op##_row(const float *a, int64_t sa, const float *b, int64_t sb,       \
                                 float *out, int64_t n)                                        \
    {                                                                                          \
        if (sa && sb)                                                                          \
            for (int64_t i = 0; i < n; i++) {                                                  \
                const float x = a[i], y = b[i];                                                \
                out[i] = (f32);                                                                \
            }                                                                                  \
        else if (sa)                                                                           \
            for (int64_t i = 0; i < n; i++) {                                                  \
                const float x = a[i], y = *b;                                                  \
                out[i] = (f32);                                                                \
            }                                                                                  \
        else                                                                                   \
            for (int64_t i = 0; i < n; i++) {                                                  \
                const float x = *a, y = b[sb ? i : 0];                                         \
                out[i] = (f32);                                                                \
            }                                                                                  \
    }                                                                                          \
    static tutti_status op##_run(void *state, const tutti_op_call *c, const void *const *in,   \
                                 void *const *out, void *scratch)                              \
    {                                                                                          \
        (void)state, (void)scratch;                                                            \
        broadcast_rows(c, in[0], in[1], out[0], op##_row);                                     \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static const tutti_kernel op##_cpu = {sizeof(tutti_kernel), 3, NULL, op##_run, NULL};      \
    extern const tutti_op tutti_op_##op;                                                       \
    const tutti_op tutti_op_##op = {.struct_size = sizeof(tutti_op),                           \
                                    .flags = TUTTI_OP_ELEMENTWISE | (flags_),                  \
                                    .name = #op,                                               \
                                    .nin_min = 2,                                              \
                                    .nin_max = 2,                                              \
                                    .nout = 1,                                                 \
                                    .infer = op##_infer,                                       \
                                    .vjp = vjp_,                                               \
                                    .reference = op##_reference,                               \
                                    .cpu = &op##_cpu};

/* The gradient of a broadcast input: `d` summed back to the shape of `v`. */
static inline tutti_value op_sum_to(tutti_graph *g, tutti_value d, tutti_value v)
{
    const tutti_desc want = *g->desc(g, v);
    if (tutti_same_shape(g->desc(g, d), &want))
        return d;
    const tutti_attr shape = tutti_attr_list("shape", want.dim, (uint32_t)want.rank);
    return g->emit(g, "sum_to", &d, 1, &shape, 1, NULL, 0);
}

/* Value `v` spread to the shape of `like`. */
static inline tutti_value op_broadcast_to(tutti_graph *g, tutti_value v, tutti_value like)
{
    const tutti_desc want = *g->desc(g, like);
    if (tutti_same_shape(g->desc(g, v), &want))
        return v;
    const tutti_attr shape = tutti_attr_list("shape", want.dim, (uint32_t)want.rank);
    return g->emit(g, "broadcast_to", &v, 1, &shape, 1, NULL, 0);
}

#endif
