/* elementwise.h - whole descriptors for unary and binary operations from two functions of maths. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_ELEMENTWISE_H
#define KERNELS_COMMON_ELEMENTWISE_H

#include "common/broadcast.h"
#include "common/cuda/elementwise.h"

/* A folder's header has the maths: float <op>_f32(...) for the kernel, double <op>_f64(...) for the
 * reference.  Both take the elements, and with attributes a pointer to them.  `cost` is roughly how
 * many additions an element is worth. */
typedef struct no_attr {
    char unused;
} no_attr;

/* The loop's attributes by value, so that the compiler may keep them in registers. */
#define OP_LOCAL_ATTR(type)                                                                    \
    const type none = {0}, own = attr ? *(const type *)attr : none, *const a = &own;           \
    (void)a

/* Defines <op>_cuda, which launches the <op>_cuda of the folder's device code. */
#define OP_CUDA(op, attr_type, inplace_)                                                       \
    static tutti_status op##_cuda_prepare(const tutti_op_call *c, void **ret_state,            \
                                          uint64_t *ret_scratch, tutti_error *err)             \
    {                                                                                          \
        (void)ret_scratch;                                                                     \
        return cuda_map_prepare(c, #op "_cuda", sizeof(attr_type), ret_state, err);            \
    }                                                                                          \
    static const tutti_kernel op##_cuda = {sizeof(tutti_kernel), (inplace_),                   \
                                           op##_cuda_prepare, cuda_map_run, NULL};

/* ---- y[i] = fn(x[i]) ---- */

typedef void (*elementwise_loop)(const void *attr, const float *x, float *y, int64_t n);

/* Runs `loop` over all of x, a share for each thread.  One thread alone enters no parallel region, which costs it
 * a system call: fused groups come here for every tile. */
static inline void elementwise_run(const tutti_op_call *c, const float *x, float *y,
                                   elementwise_loop loop, int64_t cost)
{
    const int64_t n = tutti_numel(&c->in[0]);
    const int threads = op_threads(c, n * cost);
    if (threads == 1) {
        loop(c->attr, x, y, n);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int k = 0; k < threads; k++) {
        int64_t first;
        const int64_t count = op_chunk(n, k, threads, &first);
        loop(c->attr, x + first, y + first, count);
    }
}

/* Defines tutti_op_<op>, f32 (N) -> f32 (N).  ARGS is (x) or (x, a); the rest are members of the
 * descriptor: its gradient rule, and OP_ATTR. */
#define OP_UNARY_WITH(op, attr_type, cost, ARGS, ...)                                          \
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
            out[0][i] = op##_f64 ARGS;                                                         \
        }                                                                                      \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static inline void op##_loop(const void *attr, const float *in, float *y, int64_t n)       \
    {                                                                                          \
        OP_LOCAL_ATTR(attr_type);                                                              \
        OP_LOOP for (int64_t i = 0; i < n; i++)                                                \
        {                                                                                      \
            const float x = in[i];                                                             \
            y[i] = op##_f32 ARGS;                                                              \
        }                                                                                      \
    }                                                                                          \
    static tutti_status op##_run(void *state, const tutti_op_call *c, const void *const *in,   \
                                 void *const *out, void *scratch)                              \
    {                                                                                          \
        (void)state, (void)scratch;                                                            \
        elementwise_run(c, in[0], out[0], op##_loop, cost);                                    \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static const tutti_kernel op##_cpu = {sizeof(tutti_kernel), 1, NULL, op##_run, NULL};      \
    OP_CUDA(op, attr_type, 1)                                                                  \
    OP_DEFINE(op, .flags = TUTTI_OP_ELEMENTWISE | TUTTI_OP_REPRODUCIBLE, .nin_min = 1,         \
              .nin_max = 1, .infer = op##_infer, .reference = op##_reference,                  \
              .cpu = &op##_cpu, .cuda = &op##_cuda, __VA_ARGS__)

#define OP_UNARY(op, cost, vjp_) OP_UNARY_WITH(op, no_attr, cost, (x), .vjp = (vjp_))
#define OP_UNARY_ATTR(op, attr_type, fields, cost, vjp_)                                       \
    OP_UNARY_WITH(op, attr_type, cost, (x, a), .vjp = (vjp_), OP_ATTR(attr_type, fields))

/* ---- y = fn(a, b), broadcast ---- */

#define OP_BINARY_ROW(op, ARGS, x_, y_)                                                        \
    OP_LOOP for (int64_t i = 0; i < s->n; i++)                                                 \
    {                                                                                          \
        const float x = (x_), y = (y_);                                                        \
        out[i] = op##_f32 ARGS;                                                                \
    }

/* Defines all but the descriptor.  ARGS is (x, y) or (x, y, a): x from the first input, y from the
 * second. */
#define OP_BINARY_CODE(op, attr_type, cost, ARGS)                                              \
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
        const broadcast r = broadcast_make(&c->in[0], &c->in[1], &c->out[0]);                  \
        const attr_type *a = c->attr;                                                          \
        (void)a;                                                                               \
        for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n; i++) {                         \
            int64_t ia, ib;                                                                    \
            broadcast_at(&r, i, &ia, &ib);                                                     \
            const double x = in[0][ia], y = in[1][ib];                                         \
            out[0][i] = op##_f64 ARGS;                                                         \
        }                                                                                      \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static inline void op##_loop(const void *attr, const float *pa, const float *pb,           \
                                 float *out, const broadcast_block *s)                         \
    {                                                                                          \
        OP_LOCAL_ATTR(attr_type);                                                              \
        for (int64_t k = 0; k < s->rows; k++) {                                                \
            if (s->step_a && s->step_b)                                                        \
                OP_BINARY_ROW(op, ARGS, pa[i], pb[i])                                          \
            else if (s->step_a) {                                                              \
                const float same = *pb;                                                        \
                OP_BINARY_ROW(op, ARGS, pa[i], same)                                           \
            } else if (s->step_b) {                                                            \
                const float same = *pa;                                                        \
                OP_BINARY_ROW(op, ARGS, same, pb[i])                                           \
            } else                                                                             \
                OP_BINARY_ROW(op, ARGS, *pa, *pb)                                              \
            pa += s->row_a;                                                                    \
            pb += s->row_b;                                                                    \
            out += s->n;                                                                       \
        }                                                                                      \
    }                                                                                          \
    static tutti_status op##_run(void *state, const tutti_op_call *c, const void *const *in,   \
                                 void *const *out, void *scratch)                              \
    {                                                                                          \
        (void)state, (void)scratch;                                                            \
        broadcast_run(c, in, out[0], op##_loop, cost);                                         \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static const tutti_kernel op##_cpu = {sizeof(tutti_kernel), 3, NULL, op##_run, NULL};      \
    OP_CUDA(op, attr_type, 3)

#define OP_BINARY_WITH(op, attr_type, cost, ARGS, flags_, ...)                                 \
    OP_BINARY_CODE(op, attr_type, cost, ARGS)                                                  \
    OP_DEFINE(op, .flags = TUTTI_OP_ELEMENTWISE | (flags_), .nin_min = 2, .nin_max = 2,        \
              .infer = op##_infer, .reference = op##_reference, .cpu = &op##_cpu,              \
              .cuda = &op##_cuda, __VA_ARGS__)

#define OP_BINARY(op, cost, flags_, vjp_)                                                      \
    OP_BINARY_WITH(op, no_attr, cost, (x, y), flags_, .vjp = (vjp_))
#define OP_BINARY_ATTR(op, attr_type, fields, cost, vjp_)                                      \
    OP_BINARY_WITH(op, attr_type, cost, (x, y, a), TUTTI_OP_REPRODUCIBLE, .vjp = (vjp_),       \
                   OP_ATTR(attr_type, fields))

/* A gradient out of dy and the input or output x, which have one shape. */
#define OP_GRADIENT_WITH(op, attr_type, cost, ARGS, ...)                                       \
    OP_BINARY_CODE(op, attr_type, cost, ARGS)                                                  \
    static tutti_status op##_infer_same(const tutti_op_call *c, tutti_desc *out,               \
                                        tutti_error *err)                                      \
    {                                                                                          \
        const tutti_status s = op_want_same(#op, "dy", &c->in[0], "x", &c->in[1], err);        \
        return s ? s : op##_infer(c, out, err);                                                \
    }                                                                                          \
    OP_DEFINE(op, .flags = TUTTI_OP_ELEMENTWISE | TUTTI_OP_REPRODUCIBLE, .nin_min = 2,         \
              .nin_max = 2, .infer = op##_infer_same, .reference = op##_reference,             \
              .cpu = &op##_cpu, .cuda = &op##_cuda, __VA_ARGS__)

#define OP_GRADIENT(op, cost, vjp_) OP_GRADIENT_WITH(op, no_attr, cost, (x, y), .vjp = (vjp_))
#define OP_GRADIENT_ATTR(op, attr_type, fields, cost, vjp_)                                    \
    OP_GRADIENT_WITH(op, attr_type, cost, (x, y, a), .vjp = (vjp_), OP_ATTR(attr_type, fields))

#endif
