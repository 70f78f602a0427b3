/* conv2d_shape.c - which convolutions fit together, what is said about those that do not, and the definition. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d.h"

static tutti_status want_list(const char *op, const char *name, const tutti_list *l,
                              int64_t least, tutti_error *err)
{
    if (l->n != 0 && l->n != 2)
        return tutti_fail(err, TUTTI_E_ARG, "%s: %s has %lld entries, want 2", op, name,
                          (long long)l->n);
    for (int64_t k = 0; k < l->n; k++)
        if (l->v[k] < least || l->v[k] > INT32_MAX)
            return tutti_fail(err, TUTTI_E_RANGE, "%s: %s is (%lld, %lld), want %lld or more",
                              op, name, (long long)l->v[0], (long long)l->v[1],
                              (long long)least);
    return TUTTI_OK;
}

static tutti_status want_window(const char *op, const conv2d_attr *a, tutti_error *err)
{
    tutti_status s = want_list(op, "stride", &a->stride, 1, err);
    if (!s)
        s = want_list(op, "padding", &a->padding, 0, err);
    if (!s)
        s = want_list(op, "dilation", &a->dilation, 1, err);
    if (!s && a->groups < 1)
        s = tutti_fail(err, TUTTI_E_RANGE, "%s: groups is %lld, want 1 or more", op,
                       (long long)a->groups);
    return s;
}

static int64_t entry(const tutti_list *l, int64_t k, int64_t fallback)
{
    return l->n ? l->v[k] : fallback;
}

/* Windows of `kernel` along `size`; less than 1 when not even one fits. */
static int64_t extent(const conv2d_attr *a, int64_t k, int64_t size, int64_t kernel)
{
    const int64_t span =
        size + 2 * entry(&a->padding, k, 0) - entry(&a->dilation, k, 1) * (kernel - 1) - 1;
    return span < 0 ? 0 : span / entry(&a->stride, k, 1) + 1;
}

tutti_status conv2d_shape(const char *op, const conv2d_attr *a, const tutti_desc *x,
                          const tutti_desc *w, tutti_desc *ret_y, tutti_error *err)
{
    char tx[96], tw[96];
    tutti_status s = want_window(op, a, err);
    if (!s)
        s = op_want_rank(op, "x", x, 4, err);
    if (!s)
        s = op_want_rank(op, "w", w, 4, err);
    if (!s)
        s = op_want_f32(op, "x", x, err);
    if (!s)
        s = op_want_f32(op, "w", w, err);
    if (s)
        return s;
    if (x->dim[3] % a->groups != 0 || w->dim[3] != x->dim[3] / a->groups ||
        w->dim[0] % a->groups != 0)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "%s: x is %s and w is %s in %lld groups, want w (O, KH, KW, C / "
                          "groups) and both O and C divisible by groups",
                          op, tutti_desc_text(x, tx, sizeof tx),
                          tutti_desc_text(w, tw, sizeof tw), (long long)a->groups);
    tutti_desc y = {.rank = 4, .dtype = TUTTI_F32};
    y.dim[0] = x->dim[0];
    y.dim[3] = w->dim[0];
    for (int k = 0; k < 2; k++) {
        y.dim[1 + k] = extent(a, k, x->dim[1 + k], w->dim[1 + k]);
        if (y.dim[1 + k] < 1 || w->dim[1 + k] < 1)
            return tutti_fail(
                err, TUTTI_E_SHAPE, "%s: no window of w %s fits into x %s with its padding", op,
                tutti_desc_text(w, tw, sizeof tw), tutti_desc_text(x, tx, sizeof tx));
    }
    *ret_y = y;
    return TUTTI_OK;
}

static tutti_status want_y(const char *op, const conv2d_attr *a, const tutti_desc *x,
                           const tutti_desc *w, const tutti_desc *y, tutti_error *err)
{
    tutti_desc want;
    char ty[96], tw[96];
    tutti_status s = conv2d_shape(op, a, x, w, &want, err);
    if (s)
        return s;
    if (y->dtype != TUTTI_F32 || !tutti_same_shape(y, &want))
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: dy is %s, want %s", op,
                          tutti_desc_text(y, ty, sizeof ty),
                          tutti_desc_text(&want, tw, sizeof tw));
    return TUTTI_OK;
}

tutti_status conv2d_input_of(const conv2d_attr *a, const tutti_desc *y, const tutti_desc *w,
                             tutti_desc *ret_x, tutti_error *err)
{
    const char *op = "conv2d_grad_input";
    tutti_desc x = {.rank = 4, .dtype = TUTTI_F32};
    if (a->shape.n != 4)
        return tutti_fail(err, TUTTI_E_ARG, "%s: input_shape has %lld entries, want 4", op,
                          (long long)a->shape.n);
    for (int k = 0; k < 4; k++) {
        x.dim[k] = a->shape.v[k];
        if (x.dim[k] < 0)
            return tutti_fail(err, TUTTI_E_RANGE, "%s: input_shape has a %lld, want 0 or more",
                              op, (long long)x.dim[k]);
    }
    const tutti_status s = want_y(op, a, &x, w, y, err);
    if (!s)
        *ret_x = x;
    return s;
}

tutti_status conv2d_weight_of(const conv2d_attr *a, const tutti_desc *x, const tutti_desc *y,
                              tutti_desc *ret_w, tutti_error *err)
{
    const char *op = "conv2d_grad_weight";
    tutti_desc w = {.rank = 4, .dtype = TUTTI_F32};
    if (a->shape.n != 2)
        return tutti_fail(err, TUTTI_E_ARG, "%s: kernel has %lld entries, want 2", op,
                          (long long)a->shape.n);
    tutti_status s = op_want_rank(op, "x", x, 4, err);
    if (!s)
        s = op_want_rank(op, "dy", y, 4, err);
    if (s)
        return s;
    w.dim[0] = y->dim[3];
    w.dim[1] = a->shape.v[0];
    w.dim[2] = a->shape.v[1];
    w.dim[3] = a->groups > 0 ? x->dim[3] / a->groups : 0;
    s = want_y(op, a, x, &w, y, err);
    if (!s)
        *ret_w = w;
    return s;
}

conv2d_geometry conv2d_geometry_of(const conv2d_attr *a, const tutti_desc *x,
                                   const tutti_desc *w, const tutti_desc *y)
{
    return (conv2d_geometry){.b = x->dim[0],
                             .h = x->dim[1],
                             .w = x->dim[2],
                             .c = x->dim[3],
                             .oh = y->dim[1],
                             .ow = y->dim[2],
                             .o = y->dim[3],
                             .kh = w->dim[1],
                             .kw = w->dim[2],
                             .g = a->groups,
                             .sh = entry(&a->stride, 0, 1),
                             .sw = entry(&a->stride, 1, 1),
                             .ph = entry(&a->padding, 0, 0),
                             .pw = entry(&a->padding, 1, 0),
                             .dh = entry(&a->dilation, 0, 1),
                             .dw = entry(&a->dilation, 1, 1)};
}

/* The definition of convolution and its gradients, in f64 and in f32. */
#define REAL double
#define PLAIN(name) name##_f64
#include "conv2d/conv2d_plain.h"
#undef REAL
#undef PLAIN

#define REAL float
#define PLAIN(name) name##_f32
#include "conv2d/conv2d_plain.h"
