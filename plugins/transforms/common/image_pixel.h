/* image_pixel.h - what changes of a picture compute of a pixel, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TRANSFORMS_IMAGE_PIXEL_H
#define PLUGIN_TRANSFORMS_IMAGE_PIXEL_H

#include "colour_pixel.h"
#include "steady.h"

#include <math.h>

/* A picture u8 (h, w, c) that is read. */
typedef struct pixel_source {
    const uint8_t *pixels;
    int64_t h, w, c;
} pixel_source;

TUTTI_SHARED uint8_t pixel_clip(double v)
{
    return (uint8_t)(v <= 0.0 ? 0.0 : v >= 255.0 ? 255.0 : v);
}

/* What `autocontrast` makes of v in a channel whose values go from low to high. */
TUTTI_SHARED uint8_t pixel_stretch(int v, int low, int high)
{
    if (high <= low)
        return (uint8_t)v;
    const double scale = 255.0 / (high - low), offset = -low * scale;
    return pixel_clip(v * scale + offset);
}

/* The pixels of a step of `equalize`, 0: the channel stays; n pixels, `last` of them of the greatest value. */
TUTTI_SHARED int64_t pixel_step(int64_t n, int64_t last)
{
    return (n - last) / 255;
}

/* What `equalize` makes of a value with so many pixels below it. */
TUTTI_SHARED uint8_t pixel_flatten(int64_t below, int64_t step)
{
    return pixel_clip((double)((step / 2 + below) / step));
}

/* Its upper `bits`, 0 to 8. */
TUTTI_SHARED uint8_t pixel_posterized(uint8_t v, int bits)
{
    return (uint8_t)(v & 0xff00 >> bits);
}

/* Inverted from `threshold` up. */
TUTTI_SHARED uint8_t pixel_solarized(uint8_t v, int threshold)
{
    return (uint8_t)(v >= threshold ? 255 - v : v);
}

/* [1 1 1; 1 5 1; 1 1 1] / 13 where all of it lies in the picture, the picture at its edge. */
TUTTI_SHARED double pixel_smooth(pixel_source p, int64_t row, int64_t column, int64_t k)
{
    const int64_t line = p.w * p.c;
    const uint8_t *at = p.pixels + row * line + column * p.c + k;
    if (row == 0 || column == 0 || row == p.h - 1 || column == p.w - 1)
        return *at;
    double sum = 4.0 * *at;
    for (int64_t dy = -1; dy <= 1; dy++)
        for (int64_t dx = -1; dx <= 1; dx++)
            sum += at[dy * line + dx * p.c];
    return floor(sum / 13.0 + 0.5);
}

/* The value at i, sharpened. */
TUTTI_SHARED uint8_t pixel_sharp(pixel_source p, int64_t i, double factor)
{
    const int64_t pixel = i / p.c;
    const double soft = pixel_smooth(p, pixel / p.w, pixel % p.w, i % p.c);
    return colour_blend((int)soft, p.pixels[i], (float)factor);
}

TUTTI_SHARED int64_t pixel_inside(int64_t at, int64_t n)
{
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}

/* Writes the pixel that comes to `pixel`: from (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]), where (0.5, 0.5)
 * is the centre of the first; black from outside. */
TUTTI_SHARED void pixel_affine(pixel_source p, const double *m, int64_t pixel, uint8_t *out)
{
    const double column = (double)(pixel % p.w) + 0.5, row = (double)(pixel / p.w) + 0.5;
    const double sx = m[0] * column + m[1] * row + m[2];
    const double sy = m[3] * column + m[4] * row + m[5];
    const int64_t line = p.w * p.c;
    if (sx < 0.0 || sx >= (double)p.w || sy < 0.0 || sy >= (double)p.h) {
        for (int64_t k = 0; k < p.c; k++)
            out[k] = 0;
        return;
    }
    const double fx = floor(sx - 0.5), fy = floor(sy - 0.5);
    const double dx = sx - 0.5 - fx, dy = sy - 0.5 - fy;
    const int64_t left = pixel_inside((int64_t)fx, p.w) * p.c;
    const int64_t right = pixel_inside((int64_t)fx + 1, p.w) * p.c;
    const uint8_t *top = p.pixels + pixel_inside((int64_t)fy, p.h) * line;
    const uint8_t *bottom = p.pixels + pixel_inside((int64_t)fy + 1, p.h) * line;
    for (int64_t k = 0; k < p.c; k++) {
        const double a = top[left + k] + (top[right + k] - top[left + k]) * dx;
        const double b = bottom[left + k] + (bottom[right + k] - bottom[left + k]) * dx;
        out[k] = (uint8_t)(a + (b - a) * dy);
    }
}

/* The matrix of pixel_affine that rotates a picture counter-clockwise about its centre, by up to 90 degrees. */
TUTTI_SHARED void pixel_turn(double degrees, int64_t h, int64_t w, double *m)
{
    const double angle = -degrees * 3.14159265358979323846 / 180.0;
    const double c = rint(steady_cos(angle) * 1e15) / 1e15;
    const double s = rint(steady_sin(angle) * 1e15) / 1e15;
    const double cx = (double)w / 2.0, cy = (double)h / 2.0;
    m[0] = c;
    m[1] = s;
    m[2] = (c * -cx + s * -cy) + cx;
    m[3] = -s;
    m[4] = c;
    m[5] = (-s * -cx + c * -cy) + cy;
}

#endif
