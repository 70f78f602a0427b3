/* colour.c - blends by table where one side is constant. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "colour.h"
#include "colour_pixel.h"

static void blend_with(uint8_t *x, int64_t values, int from, float factor)
{
    uint8_t table[256];
    for (int k = 0; k < 256; k++)
        table[k] = colour_blend(from, k, factor);
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
        sum += channels == 3 ? colour_grey(x + 3 * i) : x[i];
    if (n > 0)
        blend_with(x, n * channels, colour_mean(sum, n), factor);
}

void colour_saturation(uint8_t *x, int64_t n, int64_t channels, float factor)
{
    for (int64_t i = 0; channels == 3 && i < n; i++, x += 3) {
        const int grey = colour_grey(x);
        for (int c = 0; c < 3; c++)
            x[c] = colour_blend(grey, x[c], factor);
    }
}

void colour_hue(uint8_t *x, int64_t n, int64_t channels, uint8_t turn)
{
    for (int64_t i = 0; channels == 3 && i < n; i++, x += 3) {
        uint8_t h, s, v;
        colour_to_hsv(x, &h, &s, &v);
        colour_from_hsv((uint8_t)(h + turn), s, v, x);
    }
}
