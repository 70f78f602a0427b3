/* image_ops.c - changes of one picture. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "image_ops.h"

#include "image_pixel.h"

#include <string.h>

/* Channel k through a table. */
static void look_up(const picture *x, int64_t k, const uint8_t *table)
{
    for (int64_t i = k; i < x->h * x->w * x->c; i += x->c)
        x->pixels[i] = table[x->pixels[i]];
}

static void image_ops_count(const picture *x, int64_t k, int64_t *histogram)
{
    memset(histogram, 0, 256 * sizeof *histogram);
    for (int64_t i = k; i < x->h * x->w * x->c; i += x->c)
        histogram[x->pixels[i]]++;
}

/* A copy in `scratch`, out of which the picture is made anew. */
static pixel_source image_ops_source(const picture *x, uint8_t *scratch)
{
    memcpy(scratch, x->pixels, (size_t)(x->h * x->w * x->c));
    return (pixel_source){scratch, x->h, x->w, x->c};
}

void image_autocontrast(const picture *x)
{
    int64_t histogram[256];
    uint8_t table[256];
    for (int64_t k = 0; k < x->c; k++) {
        int low = 0, high = 255;
        image_ops_count(x, k, histogram);
        while (low < 255 && histogram[low] == 0)
            low++;
        while (high > 0 && histogram[high] == 0)
            high--;
        for (int v = 0; v < 256; v++)
            table[v] = pixel_stretch(v, low, high);
        look_up(x, k, table);
    }
}

void image_equalize(const picture *x)
{
    int64_t histogram[256];
    uint8_t table[256];
    for (int64_t k = 0; k < x->c; k++) {
        int last = 255;
        int64_t below = 0;
        image_ops_count(x, k, histogram);
        while (last > 0 && histogram[last] == 0)
            last--;
        const int64_t step = pixel_step(x->h * x->w, histogram[last]);
        if (step == 0)
            continue;
        for (int v = 0; v < 256; v++) {
            table[v] = pixel_flatten(below, step);
            below += histogram[v];
        }
        look_up(x, k, table);
    }
}

void image_posterize(const picture *x, int bits)
{
    for (int64_t i = 0; i < x->h * x->w * x->c; i++)
        x->pixels[i] = pixel_posterized(x->pixels[i], bits);
}

void image_solarize(const picture *x, int threshold)
{
    for (int64_t i = 0; i < x->h * x->w * x->c; i++)
        x->pixels[i] = pixel_solarized(x->pixels[i], threshold);
}

void image_invert(const picture *x)
{
    image_solarize(x, 0);
}

void image_sharpness(const picture *x, double factor, uint8_t *scratch)
{
    const pixel_source from = image_ops_source(x, scratch);
    for (int64_t i = 0; i < x->h * x->w * x->c; i++)
        x->pixels[i] = pixel_sharp(from, i, factor);
}

void image_affine(const picture *x, const double m[6], uint8_t *scratch)
{
    const pixel_source from = image_ops_source(x, scratch);
    for (int64_t i = 0; i < x->h * x->w; i++)
        pixel_affine(from, m, i, x->pixels + i * x->c);
}

void image_rotate(const picture *x, double degrees, uint8_t *scratch)
{
    double m[6];
    pixel_turn(degrees, x->h, x->w, m);
    image_affine(x, m, scratch);
}
