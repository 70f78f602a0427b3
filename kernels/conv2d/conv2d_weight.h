/* conv2d_weight.h - our own weight gradient for few channels, where oneDNN's is slow. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CONV2D_CONV2D_WEIGHT_H
#define KERNELS_CONV2D_CONV2D_WEIGHT_H

#include "conv2d/conv2d.h"

/* Whether it can: AVX-512, one group, no dilation, channels in sixteens, and not too many. */
int conv2d_weight_fits(const conv2d_geometry *g);
/* Bytes of `buffers`. */
uint64_t conv2d_weight_scratch(const conv2d_geometry *g, int threads);
/* dw (O, KH, KW, C) from x (B, H, W, C) and dy (B, OH, OW, O); the same bits for the same number of
 * threads.  [step] */
void conv2d_weight_run(const conv2d_geometry *g, int threads, const float *x, const float *dy,
                       float *dw, float *buffers);

#endif
