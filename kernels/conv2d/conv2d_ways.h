/* conv2d_ways.h - ways of a convolution's gradients that are made of other convolutions. */
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
