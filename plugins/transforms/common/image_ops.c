/* image_ops.c - changes of one picture. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "image_ops.h"
#include "colour_pixel.h"

#include <math.h>
#include <string.h>

static uint8_t image_ops_clip(double v)
{
    return v <= 0.0 ? 0 : v >= 255.0 ? 255 : (uint8_t)v;
}

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
        if (high <= low)
            continue;
        const double scale = 255.0 / (high - low), offset = -low * scale;
        for (int v = 0; v < 256; v++)
            table[v] = image_ops_clip(v * scale + offset);
        look_up(x, k, table);
    }
}

void image_equalize(const picture *x)
{
    int64_t histogram[256];
    uint8_t table[256];
    for (int64_t k = 0; k < x->c; k++) {
        int last = 255;
        image_ops_count(x, k, histogram);
        while (last > 0 && histogram[last] == 0)
            last--;
        const int64_t step = (x->h * x->w - histogram[last]) / 255;
        int64_t sum = step / 2;
        if (step == 0)
            continue;
        for (int v = 0; v < 256; v++) {
            table[v] = image_ops_clip((double)(sum / step));
            sum += histogram[v];
        }
        look_up(x, k, table);
    }
}

void image_posterize(const picture *x, int bits)
{
    const uint8_t mask = (uint8_t)(0xff00 >> bits);
    for (int64_t i = 0; i < x->h * x->w * x->c; i++)
        x->pixels[i] &= mask;
}

void image_invert(const picture *x)
{
    image_solarize(x, 0);
}

void image_solarize(const picture *x, int threshold)
{
    for (int64_t i = 0; i < x->h * x->w * x->c; i++)
        if (x->pixels[i] >= threshold)
            x->pixels[i] = (uint8_t)(255 - x->pixels[i]);
}

/* [1 1 1; 1 5 1; 1 1 1] / 13 where all of it lies in the picture, the picture at its edge. */
static double image_ops_smooth(const uint8_t *x, const picture *p, int64_t row, int64_t column,
                               int64_t k)
{
    const int64_t line = p->w * p->c;
    const uint8_t *at = x + row * line + column * p->c + k;
    if (row == 0 || column == 0 || row == p->h - 1 || column == p->w - 1)
        return *at;
    double sum = 4.0 * *at;
    for (int64_t dy = -1; dy <= 1; dy++)
        for (int64_t dx = -1; dx <= 1; dx++)
            sum += at[dy * line + dx * p->c];
    return floor(sum / 13.0 + 0.5);
}

void image_sharpness(const picture *x, double factor, uint8_t *scratch)
{
    memcpy(scratch, x->pixels, (size_t)(x->h * x->w * x->c));
    for (int64_t i = 0; i < x->h * x->w * x->c; i++) {
        const int64_t pixel = i / x->c;
        const double soft = image_ops_smooth(scratch, x, pixel / x->w, pixel % x->w, i % x->c);
        x->pixels[i] = colour_blend((int)soft, scratch[i], (float)factor);
    }
}

static int64_t image_ops_inside(int64_t at, int64_t n)
{
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}

/* Writes the pixel at (sx, sy), where (0.5, 0.5) is the centre of the first. */
static void image_ops_sample(const picture *p, const uint8_t *x, double sx, double sy,
                             uint8_t *out)
{
    const int64_t line = p->w * p->c;
    if (sx < 0.0 || sx >= (double)p->w || sy < 0.0 || sy >= (double)p->h) {
        memset(out, 0, (size_t)p->c);
        return;
    }
    const double fx = floor(sx - 0.5), fy = floor(sy - 0.5);
    const double dx = sx - 0.5 - fx, dy = sy - 0.5 - fy;
    const int64_t left = image_ops_inside((int64_t)fx, p->w) * p->c;
    const int64_t right = image_ops_inside((int64_t)fx + 1, p->w) * p->c;
    const uint8_t *top = x + image_ops_inside((int64_t)fy, p->h) * line;
    const uint8_t *bottom = x + image_ops_inside((int64_t)fy + 1, p->h) * line;
    for (int64_t k = 0; k < p->c; k++) {
        const double a = top[left + k] + (top[right + k] - top[left + k]) * dx;
        const double b = bottom[left + k] + (bottom[right + k] - bottom[left + k]) * dx;
        out[k] = (uint8_t)(a + (b - a) * dy);
    }
}

void image_affine(const picture *x, const double m[6], uint8_t *scratch)
{
    memcpy(scratch, x->pixels, (size_t)(x->h * x->w * x->c));
    for (int64_t i = 0; i < x->h * x->w; i++) {
        const double column = (double)(i % x->w) + 0.5, row = (double)(i / x->w) + 0.5;
        image_ops_sample(x, scratch, m[0] * column + m[1] * row + m[2],
                         m[3] * column + m[4] * row + m[5], x->pixels + i * x->c);
    }
}

void image_rotate(const picture *x, double degrees, uint8_t *scratch)
{
    const double angle = -degrees * acos(-1.0) / 180.0;
    const double c = rint(cos(angle) * 1e15) / 1e15, s = rint(sin(angle) * 1e15) / 1e15;
    const double cx = (double)x->w / 2.0, cy = (double)x->h / 2.0;
    const double m[6] = {c, s, (c * -cx + s * -cy) + cx, -s, c, (-s * -cx + c * -cy) + cy};
    if (degrees != 0.0)
        image_affine(x, m, scratch);
}
