/* augment.h - the operations of RandAugment on u8 images, as Pillow does them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TRANSFORMS_AUGMENT_H
#define PLUGIN_TRANSFORMS_AUGMENT_H

#include <stdint.h>

/* An image (height, width, channels) that operations change in place, and room for another. */
typedef struct canvas {
    uint8_t *x;
    uint8_t *spare;
    int64_t height;
    int64_t width;
    int64_t channels; /* 1 or 3 */
} canvas;

/* The darkest value of each channel becomes 0 and the lightest 255. */
void augment_autocontrast(const canvas *c);
/* Each channel's values spread so that all occur as often, as far as possible. */
void augment_equalize(const canvas *c);
/* Keeps the upper `bits` (0 to 8) of every value. */
void augment_posterize(const canvas *c, int bits);
/* Turns values from `threshold` on upside down. */
void augment_solarize(const canvas *c, int threshold);
/* Factor 0 is the image smoothed by (1 1 1; 1 5 1; 1 1 1) / 13, 1 the image, more is sharper. */
void augment_sharpness(const canvas *c, float factor);
/* Pixel (x, y) comes from (m0 x + m1 y + m2, m3 x + m4 y + m5), bilinear, black from outside. */
void augment_affine(const canvas *c, const double m[6]);
/* About the middle, counter-clockwise. */
void augment_rotate(const canvas *c, double degrees);

#endif
