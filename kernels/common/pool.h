/* pool.h - windows over images: attributes, shapes and the pixels that a window covers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_POOL_H
#define KERNELS_COMMON_POOL_H

#include "common/onnx.h"
#include "common/pool_geometry.h"

/* Lists have two entries: rows, columns. */
typedef struct pool_attr {
    tutti_list kernel;
    tutti_list stride;         /* empty: kernel */
    tutti_list padding;        /* empty: 0, 0; on both sides */
    tutti_list input_shape;    /* of gradients: (B, H, W, C) */
    int64_t count_include_pad; /* avg_pool2d: zeros outside count */
} pool_attr;

static inline tutti_status pool_want_list(const char *op, const char *name, const tutti_list *l,
                                          int64_t least, int may_be_empty, tutti_error *err)
{
    if (l->n != 2 && !(l->n == 0 && may_be_empty))
        return tutti_fail(err, TUTTI_E_ARG, "%s: %s has %lld entries, want 2", op, name,
                          (long long)l->n);
    for (int64_t k = 0; k < l->n; k++)
        if (l->v[k] < least || l->v[k] > INT32_MAX)
            return tutti_fail(err, TUTTI_E_RANGE, "%s: %s is (%lld, %lld), want %lld or more",
                              op, name, (long long)l->v[0], (long long)l->v[1],
                              (long long)least);
    return TUTTI_OK;
}

/* Checks x and the attributes; writes y, of x's dtype. */
static inline tutti_status pool_shape(const char *op, const pool_attr *a, const tutti_desc *x,
                                      tutti_desc *ret_y, tutti_error *err)
{
    char text[96];
    tutti_status s = pool_want_list(op, "kernel", &a->kernel, 1, 0, err);
    if (!s)
        s = pool_want_list(op, "stride", &a->stride, 1, 1, err);
    if (!s)
        s = pool_want_list(op, "padding", &a->padding, 0, 1, err);
    if (!s)
        s = op_want_rank(op, "x", x, 4, err);
    if (s)
        return s;
    *ret_y = *x;
    for (int k = 0; k < 2; k++) {
        const int64_t kernel = a->kernel.v[k], pad = a->padding.n ? a->padding.v[k] : 0;
        const int64_t span = x->dim[1 + k] + 2 * pad - kernel;
        if (2 * pad > kernel)
            return tutti_fail(err, TUTTI_E_RANGE,
                              "%s: padding %lld is more than half of kernel %lld", op,
                              (long long)pad, (long long)kernel);
        if (span < 0 || x->dim[1 + k] < 1)
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "%s: no window of (%lld, %lld) fits into x %s with its padding",
                              op, (long long)a->kernel.v[0], (long long)a->kernel.v[1],
                              tutti_desc_text(x, text, sizeof text));
        ret_y->dim[1 + k] = span / (a->stride.n ? a->stride.v[k] : kernel) + 1;
    }
    return TUTTI_OK;
}

/* What a gradient's attribute input_shape stands for, after checking that `dy` belongs to it. */
static inline tutti_status pool_input(const char *op, const pool_attr *a, const tutti_desc *dy,
                                      tutti_desc *ret_x, tutti_error *err)
{
    tutti_desc x = {.rank = 4, .dtype = TUTTI_F32}, y;
    char got[96], want[96];
    if (a->input_shape.n != 4)
        return tutti_fail(err, TUTTI_E_ARG, "%s: input_shape has %lld entries, want 4", op,
                          (long long)a->input_shape.n);
    for (int k = 0; k < 4; k++) {
        x.dim[k] = a->input_shape.v[k];
        if (x.dim[k] < 0)
            return tutti_fail(err, TUTTI_E_RANGE, "%s: input_shape has a %lld, want 0 or more",
                              op, (long long)x.dim[k]);
    }
    const tutti_status s = pool_shape(op, a, &x, &y, err);
    if (s)
        return s;
    if (!tutti_same_shape(dy, &y) || dy->dtype != TUTTI_F32)
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: dy is %s, want %s", op,
                          tutti_desc_text(dy, got, sizeof got),
                          tutti_desc_text(&y, want, sizeof want));
    *ret_x = x;
    return TUTTI_OK;
}

static inline pool_geometry pool_geometry_of(const pool_attr *a, const tutti_desc *x,
                                             const tutti_desc *y)
{
    const int64_t *kernel = a->kernel.v, *stride = a->stride.n ? a->stride.v : kernel;
    return (pool_geometry){x->dim[0],
                           x->dim[1],
                           x->dim[2],
                           x->dim[3],
                           y->dim[1],
                           y->dim[2],
                           kernel[0],
                           kernel[1],
                           stride[0],
                           stride[1],
                           a->padding.n ? a->padding.v[0] : 0,
                           a->padding.n ? a->padding.v[1] : 0};
}

/* Emits a pooling op with `a`'s window; input_shape (or NULL) makes it a gradient. */
static inline tutti_value pool_emit(tutti_graph *g, const char *op, const pool_attr *a,
                                    const tutti_value *in, uint32_t nin,
                                    const int64_t *input_shape, const int64_t *include)
{
    tutti_attr attr[5] = {tutti_attr_list("kernel", a->kernel.v, (uint32_t)a->kernel.n),
                          tutti_attr_list("stride", a->stride.v, (uint32_t)a->stride.n),
                          tutti_attr_list("padding", a->padding.v, (uint32_t)a->padding.n)};
    uint32_t n = 3;
    if (input_shape)
        attr[n++] = tutti_attr_list("input_shape", input_shape, 4);
    if (include)
        attr[n++] = tutti_attr_i("count_include_pad", *include);
    return g->emit(g, op, in, nin, attr, n, NULL, 0);
}

/* The ONNX operator `type` of a pooling; `mean`: it knows what counts. */
static inline tutti_value pool_onnx(const tutti_onnx *o, const char *type, int mean)
{
    const pool_attr *a = o->call->attr;
    const int64_t none[2] = {0, 0}, *p = a->padding.n ? a->padding.v : none;
    const int64_t pads[4] = {p[0], p[1], p[0], p[1]};
    const tutti_attr attr[4] = {
        tutti_attr_list("kernel_shape", a->kernel.v, 2),
        tutti_attr_list("strides", (a->stride.n ? &a->stride : &a->kernel)->v, 2),
        tutti_attr_list("pads", pads, 4),
        tutti_attr_i("count_include_pad", a->count_include_pad)};
    const tutti_value x = onnx_channel_second(o, o->in[0], 4);
    return onnx_channel_last(o, onnx_op(o, type, &x, 1, attr, mean ? 4 : 3), 4);
}

#endif
