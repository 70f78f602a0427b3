/* colour.c - blends by table where one side is constant; HSV by Smith 1978. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "colour.h"

/* ITU-R BT.601 in 16 bits. */
static inline int grey_of(const uint8_t *rgb)
{
    return (int)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

/* from + factor (to - from), cut off below and clipped. */
static inline uint8_t blend(int from, int to, float factor)
{
    const float v = (float)from + factor * (float)(to - from);
    return (uint8_t)(v <= 0.0f ? 0 : v >= 255.0f ? 255 : v);
}

static void blend_with(uint8_t *x, int64_t values, int from, float factor)
{
    uint8_t table[256];
    for (int k = 0; k < 256; k++)
        table[k] = blend(from, k, factor);
    for (int64_t i = 0; i < values; i++)
        x[i] = table[x[i]];
}

void colour_brightness(uint8_t *x, int64_t n, int64_t channels, float factor)
{
    blend_with(x, n * channels, 0, factor);
}

void colour_contrast(uint8_t *x, int64_t n, int64_t channels, float factor)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += channels == 3 ? grey_of(x + 3 * i) : x[i];
    if (n > 0)
        blend_with(x, n * channels, (int)((double)sum / (double)n + 0.5), factor);
}

void colour_saturation(uint8_t *x, int64_t n, int64_t channels, float factor)
{
    for (int64_t i = 0; channels == 3 && i < n; i++, x += 3) {
        const int grey = grey_of(x);
        for (int c = 0; c < 3; c++)
            x[c] = blend(grey, x[c], factor);
    }
}

/* ---- hue ---- */

/* A. R. Smith, "Color gamut transform pairs" (1978); hue and saturation cut off to a byte. */
static void to_hsv(const uint8_t rgb[3], uint8_t *h, uint8_t *s, uint8_t *v)
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
static inline uint8_t rounded(double v)
{
    return (uint8_t)(int)(v + 0.5);
}

static void from_hsv(uint8_t h, uint8_t s, uint8_t v, uint8_t rgb[3])
{
    const double at = h * 6.0 / 255.0, share = s / 255.0;
    const int sector = (int)at;
    const double part = at - sector;
    const uint8_t p = rounded(v * (1.0 - share));
    const uint8_t q = rounded(v * (1.0 - share * part));
    const uint8_t t = rounded(v * (1.0 - share * (1.0 - part)));
    const uint8_t all[6][3] = {{v, t, p}, {q, v, p}, {p, v, t},
                               {p, q, v}, {t, p, v}, {v, p, q}};
    for (int c = 0; c < 3; c++)
        rgb[c] = s == 0 ? v : all[sector % 6][c];
}

void colour_hue(uint8_t *x, int64_t n, int64_t channels, uint8_t turn)
{
    for (int64_t i = 0; channels == 3 && i < n; i++, x += 3) {
        uint8_t h, s, v;
        to_hsv(x, &h, &s, &v);
        from_hsv((uint8_t)(h + turn), s, v, x);
    }
}
