/* image_ops.h - changes of one picture, as the Pillow library makes them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TRANSFORMS_IMAGE_OPS_H
#define PLUGIN_TRANSFORMS_IMAGE_OPS_H

#include <stdint.h>

/* u8 (h, w, c) with 1 or 3 channels. */
typedef struct picture {
    uint8_t *pixels;
    int64_t h, w, c;
} picture;

/* Each channel stretched to 0 ... 255. */
void image_autocontrast(const picture *x);
/* Each channel's histogram made flat. */
void image_equalize(const picture *x);
/* The upper `bits` of each value, 0 to 8. */
void image_posterize(const picture *x, int bits);
/* Each value inverted. */
void image_invert(const picture *x);
/* Values from `threshold` up inverted. */
void image_solarize(const picture *x, int threshold);
/* 1 is the picture, 0 a smoothed one, in between and beyond the same line.  `scratch` has room for
 * the picture, here and below. */
void image_sharpness(const picture *x, double factor, uint8_t *scratch);
/* Pixel (x, y) comes from (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]), bilinearly; black from
 * outside. */
void image_affine(const picture *x, const double m[6], uint8_t *scratch);
/* Counter-clockwise about the centre. */
void image_rotate(const picture *x, double degrees, uint8_t *scratch);

#endif
