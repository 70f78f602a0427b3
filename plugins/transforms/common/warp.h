/* warp.h - pictures moved by a matrix, as Pillow moves them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TRANSFORMS_WARP_H
#define PLUGIN_TRANSFORMS_WARP_H

#include "image_ops.h"

enum { WARP_NEAREST, WARP_BILINEAR };

/* What lies outside of the picture becomes `fill`, a value a channel. */
typedef struct warp_options {
    int32_t filter; /* WARP_* */
    uint8_t fill[4];
} warp_options;

/* Pixel (x, y) comes from (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]); (0.5, 0.5) is the middle of the first.  To the
 * bit of Pillow's Image.transform for sides below 32768; `scratch` has room for the picture. */
void warp_affine(const picture *x, const double m[6], const warp_options *o, uint8_t *scratch);
/* From ((c[0] x + c[1] y + c[2]) / w, (c[3] x + c[4] y + c[5]) / w), w = c[6] x + c[7] y + 1. */
void warp_perspective(const picture *x, const double c[8], const warp_options *o,
                      uint8_t *scratch);

/* An affine change about `center`, as torchvision's `affine` counts it: degrees clockwise, pixels, a factor, degrees
 * along x and y. */
typedef struct warp_change {
    double degrees, translate[2], scale, shear[2], center[2];
} warp_change;
/* Its inverse, for warp_affine. */
void warp_inverse(const warp_change *c, double ret_m[6]);
/* Counter-clockwise about the middle. */
void warp_rotate(const picture *x, double degrees, const warp_options *o, uint8_t *scratch);

#endif
