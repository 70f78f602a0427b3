/* ops.h - one-line calls for the common operations; any other goes through g->emit by name. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_OPS_H
#define TUTTI_OPS_H

#include "graph.h"

/* Shapes: B batch, C channels, H height, W width, K kernel, M N rows and columns.  Operations
 * broadcast as NumPy does.  Each op's folder under kernels/ has its formula and attributes. */

static inline tutti_value tutti_op1(tutti_graph *g, const char *op, tutti_value x)
{
    return g->emit(g, op, &x, 1, NULL, 0, NULL, 0);
}

static inline tutti_value tutti_op2(tutti_graph *g, const char *op, tutti_value a,
                                    tutti_value b)
{
    const tutti_value in[2] = {a, b};
    return g->emit(g, op, in, 2, NULL, 0, NULL, 0);
}

static inline tutti_value tutti_add(tutti_graph *g, tutti_value a, tutti_value b)
{
    return tutti_op2(g, "add", a, b);
}

static inline tutti_value tutti_sub(tutti_graph *g, tutti_value a, tutti_value b)
{
    return tutti_op2(g, "sub", a, b);
}

static inline tutti_value tutti_mul(tutti_graph *g, tutti_value a, tutti_value b)
{
    return tutti_op2(g, "mul", a, b);
}

static inline tutti_value tutti_div(tutti_graph *g, tutti_value a, tutti_value b)
{
    return tutti_op2(g, "div", a, b);
}

/* Elements of `a` where those of `which` are not 0, else those of `b`. */
static inline tutti_value tutti_where(tutti_graph *g, tutti_value which, tutti_value a,
                                      tutti_value b)
{
    const tutti_value in[3] = {which, a, b};
    return g->emit(g, "where", in, 3, NULL, 0, NULL, 0);
}

static inline tutti_value tutti_relu(tutti_graph *g, tutti_value x)
{
    return tutti_op1(g, "relu", x);
}

/* scale * x + shift, the constants in the node. */
static inline tutti_value tutti_affine(tutti_graph *g, tutti_value x, double scale,
                                       double shift)
{
    const tutti_attr attr[2] = {tutti_attr_f("scale", scale), tutti_attr_f("shift", shift)};
    return g->emit(g, "affine", &x, 1, attr, 2, NULL, 0);
}

/* x (..., M, K) times w (..., K, N); the transposes read the last two dimensions swapped.  `bias`
 * (N) or 0. */
static inline tutti_value tutti_matmul(tutti_graph *g, tutti_value x, tutti_value w,
                                       tutti_value bias, int32_t transpose_x,
                                       int32_t transpose_w)
{
    const tutti_value in[3] = {x, w, bias};
    const tutti_attr attr[2] = {tutti_attr_i("transpose_a", transpose_x),
                                tutti_attr_i("transpose_b", transpose_w)};
    return g->emit(g, "matmul", in, bias ? 3 : 2, attr, 2, NULL, 0);
}

/* x (B, H, W, C), w (Cout, KH, KW, C / groups), bias (Cout) or 0 -> (B, H', W', Cout). */
static inline tutti_value tutti_conv2d(tutti_graph *g, tutti_value x, tutti_value w,
                                       tutti_value bias, const int64_t stride[2],
                                       const int64_t padding[2], const int64_t dilation[2],
                                       int64_t groups)
{
    const tutti_value in[3] = {x, w, bias};
    const tutti_attr attr[4] = {
        tutti_attr_list("stride", stride, 2), tutti_attr_list("padding", padding, 2),
        tutti_attr_list("dilation", dilation, 2), tutti_attr_i("groups", groups)};
    return g->emit(g, "conv2d", in, bias ? 3 : 2, attr, 4, NULL, 0);
}

static inline tutti_value tutti_reshape(tutti_graph *g, tutti_value x, const int64_t *shape,
                                        uint32_t rank)
{
    const tutti_attr attr = tutti_attr_list("shape", shape, rank);
    return g->emit(g, "reshape", &x, 1, &attr, 1, NULL, 0);
}

/* out dimension k is x's dimension order[k]. */
static inline tutti_value tutti_permute(tutti_graph *g, tutti_value x, const int64_t *order,
                                        uint32_t rank)
{
    const tutti_attr attr = tutti_attr_list("order", order, rank);
    return g->emit(g, "permute", &x, 1, &attr, 1, NULL, 0);
}

/* Sum or mean over `axes` (none: all); keepdim leaves them with size 1. */
static inline tutti_value tutti_reduce(tutti_graph *g, const char *op, tutti_value x,
                                       const int64_t *axes, uint32_t naxes, int32_t keepdim)
{
    const tutti_attr attr[2] = {tutti_attr_list("axes", axes, naxes),
                                tutti_attr_i("keepdim", keepdim)};
    return g->emit(g, op, &x, 1, attr, 2, NULL, 0);
}

/* Per-sample cross entropy of logits (B, N) against classes (B) of an integer dtype, or against
 * probabilities (B, N) f32 -> (B) f32. */
static inline tutti_value tutti_softmax_cross_entropy(tutti_graph *g, tutti_value logits,
                                                      tutti_value target)
{
    return tutti_op2(g, "softmax_cross_entropy", logits, target);
}

#endif
