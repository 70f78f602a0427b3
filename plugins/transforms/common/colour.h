/* colour.h - brightness, contrast, saturation and hue of u8 images, as Pillow changes them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TRANSFORMS_COLOUR_H
#define PLUGIN_TRANSFORMS_COLOUR_H

#include <stdint.h>

/* All work in place on `n` pixels of 1 or 3 channels, to the bit of Pillow's ImageEnhance: a blend of
 * the image (factor 1) with black, with its mean grey, or with itself in grey (factor 0). */
void colour_brightness(uint8_t *x, int64_t n, int64_t channels, float factor);
void colour_contrast(uint8_t *x, int64_t n, int64_t channels, float factor);
void colour_saturation(uint8_t *x, int64_t n, int64_t channels, float factor);
/* Turns the hue by `turn` / 255 of the circle, in HSV of a byte each; grey images stay. */
void colour_hue(uint8_t *x, int64_t n, int64_t channels, uint8_t turn);

#endif
