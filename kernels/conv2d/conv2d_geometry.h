/* conv2d_geometry.h - the numbers of a convolution; the same for C and for device code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CONV2D_CONV2D_GEOMETRY_H
#define KERNELS_CONV2D_CONV2D_GEOMETRY_H

#include <stdint.h>

/* x (B, H, W, C), w (O, KH, KW, C / G), y (B, OH, OW, O):
 *   y(b, i, j, o) = bias(o) + sum over u, v, c of w(o, u, v, c)
 *                   x(b, i sh + u dh - ph, j sw + v dw - pw, c + group of o), zeros outside. */
typedef struct conv2d_geometry {
    int64_t b, h, w, c;
    int64_t oh, ow, o;
    int64_t kh, kw, g;
    int64_t sh, sw, ph, pw, dh, dw;
} conv2d_geometry;

#endif
