/* conv2d_ways.h - ways of a convolution made of products and of other convolutions. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CONV2D_CONV2D_WAYS_H
#define KERNELS_CONV2D_CONV2D_WAYS_H

#include "common/dnnl.h"
#include "conv2d/conv2d.h"

/* The three tensors as oneDNN reads them: NHWC images told as N C H W, and OHWI weights told as
 * [G] O I KH KW, which it may have its own way because they are small. */
dnn_tensor conv2d_image(int64_t b, int64_t h, int64_t w, int64_t c);
dnn_tensor conv2d_weights(const conv2d_geometry *g);

/* A call of one thread or several for `g`, without bias. */
dnn_call conv2d_call(int kind, const conv2d_geometry *g, int32_t threads, int32_t way);

/* A convolution of single pixels, without a border, as a product of matrices. */
typedef struct conv2d_pixels conv2d_pixels;

int conv2d_pixels_fit(const conv2d_geometry *g);
/* E_UNSUPPORTED where common/gemm.h has nothing for this CPU. */
tutti_status conv2d_pixels_create(int32_t kind, const conv2d_geometry *g, int32_t threads,
                                  conv2d_pixels **ret, uint64_t *ret_scratch, tutti_error *err);
/* The operation's inputs and its output; bias may be NULL. */
tutti_status conv2d_pixels_run(const conv2d_pixels *s, const float *in0, const float *in1,
                               const float *bias, float *out, void *scratch);
void conv2d_pixels_destroy(conv2d_pixels *s); /* NULL is fine */

/* Whether a convolution of single pixels leaves some out. */
int conv2d_skips(const conv2d_geometry *g);
/* Row `row`, counted over all images, of y(b, i, j) = x(b, i sh, j sw). */
void conv2d_pick(const conv2d_geometry *g, int64_t row, const float *x, float *y);
/* x(b, i sh, j sw) = y(b, i, j), zeros elsewhere. */
void conv2d_spread(const conv2d_geometry *g, int32_t threads, const float *y, float *x);

/* Bytes, in multiples of 64. */
uint64_t conv2d_align(int64_t floats);

/* dx as a convolution of dy with the filters turned around: with stride 1, or of single pixels,
 * whose results are then put between zeros. */
typedef struct conv2d_turned conv2d_turned;

int conv2d_turned_fits(const conv2d_geometry *g);
tutti_status conv2d_turned_create(const conv2d_geometry *g, int32_t threads,
                                  conv2d_turned **ret, uint64_t *ret_scratch, tutti_error *err);
tutti_status conv2d_turned_run(const conv2d_turned *t, const float *dy, const float *w,
                               float *dx, void *scratch);
void conv2d_turned_destroy(conv2d_turned *t); /* NULL is fine */

/* dw as a sum, in a fixed order, of what each thread alone makes of its images: nobody waits for
 * others but once. */
typedef struct conv2d_shares conv2d_shares;

int conv2d_shares_fit(const conv2d_geometry *g, int32_t threads);
tutti_status conv2d_shares_create(const conv2d_geometry *g, int32_t threads,
                                  conv2d_shares **ret, uint64_t *ret_scratch, tutti_error *err);
tutti_status conv2d_shares_run(const conv2d_shares *s, const float *x, const float *dy,
                               float *dw, void *scratch);
void conv2d_shares_destroy(conv2d_shares *s); /* NULL is fine */

#endif
