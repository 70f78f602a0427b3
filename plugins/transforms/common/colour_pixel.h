/* colour_pixel.h - brightness, contrast, saturation and hue of one pixel, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TRANSFORMS_COLOUR_PIXEL_H
#define PLUGIN_TRANSFORMS_COLOUR_PIXEL_H

#include "tutti/cuda_code.h"

/* ITU-R BT.601 in 16 bits. */
TUTTI_SHARED int colour_grey(const uint8_t *rgb)
{
    return (int)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

/* from + factor (to - from), cut off below and clipped. */
TUTTI_SHARED uint8_t colour_blend(int from, int to, float factor)
{
    const float v = (float)from + factor * (float)(to - from);
    return (uint8_t)(v <= 0.0f ? 0 : v >= 255.0f ? 255 : v);
}

/* A. R. Smith, "Color gamut transform pairs" (1978); hue and saturation cut off to a byte. */
TUTTI_SHARED void colour_to_hsv(const uint8_t rgb[3], uint8_t *h, uint8_t *s, uint8_t *v)
{
    const int r = rgb[0], g = rgb[1], b = rgb[2];
    const int most = r > g ? (r > b ? r : b) : (g > b ? g : b);
    const int least = r < g ? (r < b ? r : b) : (g < b ? g : b);
    const float range = (float)(most - least);
    float turn;
    *v = (uint8_t)most;
    *h = *s = 0;
    if (most == least)
        return;
    const float rc = (float)(most - r) / range, gc = (float)(most - g) / range;
    const float bc = (float)(most - b) / range;
    if (r == most)
        turn = bc - gc;
    else if (g == most)
        turn = (float)(2.0 + (double)rc - (double)bc);
    else
        turn = (float)(4.0 + (double)gc - (double)rc);
    const double whole = (double)turn / 6.0 + 1.0; /* 5/6 to 11/6 */
    turn = (float)(whole >= 1.0 ? whole - 1.0 : whole);
    *h = (uint8_t)(int)((double)turn * 255.0);
    *s = (uint8_t)(int)((double)(range / (float)most) * 255.0);
}

/* Of a number that is not negative. */
TUTTI_SHARED uint8_t colour_rounded(double v)
{
    return (uint8_t)(int)(v + 0.5);
}

TUTTI_SHARED void colour_from_hsv(uint8_t h, uint8_t s, uint8_t v, uint8_t rgb[3])
{
    const double at = h * 6.0 / 255.0, share = s / 255.0;
    const int sector = (int)at;
    const double part = at - sector;
    const uint8_t p = colour_rounded(v * (1.0 - share));
    const uint8_t q = colour_rounded(v * (1.0 - share * part));
    const uint8_t t = colour_rounded(v * (1.0 - share * (1.0 - part)));
    const uint8_t all[6][3] = {{v, t, p}, {q, v, p}, {p, v, t},
                               {p, q, v}, {t, p, v}, {v, p, q}};
    for (int c = 0; c < 3; c++)
        rgb[c] = s == 0 ? v : all[sector % 6][c];
}

/* The mean grey of `n` pixels whose sum it is. */
TUTTI_SHARED int colour_mean(int64_t sum, int64_t n)
{
    return (int)((double)sum / (double)n + 0.5);
}

#endif
