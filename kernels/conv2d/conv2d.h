/* conv2d.h - convolution and its two gradients: one geometry for all. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CONV2D_CONV2D_H
#define KERNELS_CONV2D_CONV2D_H

#include "common/op_util.h"
#include "conv2d/conv2d_geometry.h"

/* Lists are empty (all defaults) or have two entries: rows, columns. */
typedef struct conv2d_attr {
    tutti_list stride;   /* 1, 1 */
    tutti_list padding;  /* 0, 0; on both sides */
    tutti_list dilation; /* 1, 1 */
    int64_t groups;
    tutti_list shape; /* conv2d_grad_input: input_shape; conv2d_grad_weight: kernel */
    int64_t fast;     /* 1: a GPU may round factors to TF32; or CONV2D_BF16, CONV2D_F16 */
} conv2d_attr;

/* Factors that are F32 may be rounded to bf16 where the others of the node have 16 bits, as a step in mixed
 * precision wants. */
enum { CONV2D_BF16 = 2, CONV2D_F16 };

/* Checks x and w against the attributes and writes y.  `op` begins the sentence. */
tutti_status conv2d_shape(const char *op, const conv2d_attr *a, const tutti_desc *x,
                          const tutti_desc *w, tutti_desc *ret_y, tutti_error *err);

/* x from dy's gradient op and so on: what the attribute `shape` and the other input leave open.
 * Both check that the known y is the one that x and w lead to. */
tutti_status conv2d_input_of(const conv2d_attr *a, const tutti_desc *y, const tutti_desc *w,
                             tutti_desc *ret_x, tutti_error *err);
tutti_status conv2d_weight_of(const conv2d_attr *a, const tutti_desc *x, const tutti_desc *y,
                              tutti_desc *ret_w, tutti_error *err);

/* Of a checked call. */
conv2d_geometry conv2d_geometry_of(const conv2d_attr *a, const tutti_desc *x,
                                   const tutti_desc *w, const tutti_desc *y);

/* The definition in f64, and the same loops in f32 for the shapes that no library takes: outputs
 * first to last, counted in pixels (of y, of x) or in output channels (of w). */
void conv2d_plain_f64(const conv2d_geometry *g, const double *x, const double *w,
                      const double *bias, double *y, int64_t first, int64_t last);
void conv2d_plain_f32(const conv2d_geometry *g, const float *x, const float *w,
                      const float *bias, float *y, int64_t first, int64_t last);
void conv2d_plain_input_f64(const conv2d_geometry *g, const double *dy, const double *w,
                            double *dx, int64_t first, int64_t last);
void conv2d_plain_input_f32(const conv2d_geometry *g, const float *dy, const float *w,
                            float *dx, int64_t first, int64_t last);
void conv2d_plain_weight_f64(const conv2d_geometry *g, const double *x, const double *dy,
                             double *dw, int64_t first, int64_t last);
void conv2d_plain_weight_f32(const conv2d_geometry *g, const float *x, const float *dy,
                             float *dw, int64_t first, int64_t last);

extern const tutti_kernel conv2d_cpu, conv2d_grad_input_cpu, conv2d_grad_weight_cpu;
extern const tutti_kernel conv2d_cuda, conv2d_grad_input_cuda, conv2d_grad_weight_cuda;
extern const tutti_kernel conv2d_grad_weight_add_cuda;
extern const tutti_algorithms conv2d_forward_algorithms, conv2d_input_algorithms,
    conv2d_weight_algorithms;
extern const tutti_op tutti_op_conv2d, tutti_op_conv2d_grad_input, tutti_op_conv2d_grad_weight;
extern const tutti_op tutti_op_conv2d_grad_weight_add;

/* Emits one of the three with `n`'s window; `shape_name` (or NULL) is the fifth attribute. */
tutti_value conv2d_emit(tutti_graph *g, const char *op, const conv2d_attr *a, tutti_value p,
                        tutti_value q, const char *shape_name, const int64_t *shape,
                        uint32_t nshape);

/* Two for every product: `pixels` of Cout channels, each a dot product with one filter of `w`. */
static inline double conv2d_count(const tutti_desc *pixels, const tutti_desc *w)
{
    return w->rank && w->dim[0]
               ? 2.0 * (double)tutti_numel(pixels) * (double)tutti_numel(w) / (double)w->dim[0]
               : 0.0;
}

static inline double conv2d_flops(const tutti_op_call *c)
{
    return conv2d_count(&c->out[0], &c->in[1]);
}

static inline double conv2d_grad_input_flops(const tutti_op_call *c)
{
    return conv2d_count(&c->in[0], &c->in[1]);
}

static inline double conv2d_grad_weight_flops(const tutti_op_call *c)
{
    return conv2d_count(&c->in[1], &c->out[0]);
}

#endif
