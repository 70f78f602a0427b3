/* augment.c - tables from histograms, a 3x3 filter, affine maps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "augment.h"

#include <math.h>
#include <string.h>

static int64_t values(const canvas *c)
{
    return c->height * c->width * c->channels;
}

/* ---- tables ---- */

static void histogram(const canvas *c, int64_t channel, int64_t count[256])
{
    memset(count, 0, 256 * sizeof *count);
    for (int64_t i = channel, n = values(c); i < n; i += c->channels)
        count[c->x[i]]++;
}

static void look_up(const canvas *c, int64_t channel, const uint8_t table[256])
{
    for (int64_t i = channel, n = values(c); i < n; i += c->channels)
        c->x[i] = table[c->x[i]];
}

void augment_autocontrast(const canvas *c)
{
    for (int64_t channel = 0; channel < c->channels; channel++) {
        int64_t count[256];
        uint8_t table[256];
        int low = 0, high = 255;
        histogram(c, channel, count);
        while (low < 255 && !count[low])
            low++;
        while (high > 0 && !count[high])
            high--;
        if (high <= low)
            continue;
        const double scale = 255.0 / (high - low), offset = -low * scale;
        for (int k = 0; k < 256; k++) {
            const int v = (int)(k * scale + offset);
            table[k] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
        }
        look_up(c, channel, table);
    }
}

void augment_equalize(const canvas *c)
{
    for (int64_t channel = 0; channel < c->channels; channel++) {
        int64_t count[256];
        uint8_t table[256];
        int last = 255;
        histogram(c, channel, count);
        while (last > 0 && !count[last])
            last--;
        const int64_t step = (c->height * c->width - count[last]) / 255;
        if (step == 0)
            continue;
        int64_t n = step / 2;
        for (int k = 0; k < 256; n += count[k++])
            table[k] = (uint8_t)(n / step > 255 ? 255 : n / step);
        look_up(c, channel, table);
    }
}

void augment_posterize(const canvas *c, int bits)
{
    const uint8_t mask = (uint8_t)(0xff00 >> bits);
    for (int64_t i = 0, n = values(c); i < n; i++)
        c->x[i] &= mask;
}

void augment_solarize(const canvas *c, int threshold)
{
    for (int64_t i = 0, n = values(c); i < n; i++)
        c->x[i] = c->x[i] < threshold ? c->x[i] : (uint8_t)(255 - c->x[i]);
}

/* ---- sharpness ---- */

/* Pixels at the edge stay as they are. */
static void smooth(const canvas *c)
{
    const int64_t step = c->channels, row = c->width * step;
    memcpy(c->spare, c->x, (size_t)values(c));
    for (int64_t y = 1; y < c->height - 1; y++)
        for (int64_t i = y * row + step; i < (y + 1) * row - step; i++) {
            int sum = 4 * c->x[i];
            for (int64_t r = i - row; r <= i + row; r += row)
                sum += c->x[r - step] + c->x[r] + c->x[r + step];
            c->spare[i] = (uint8_t)((2 * sum + 13) / 26); /* sum / 13, rounded */
        }
}

void augment_sharpness(const canvas *c, float factor)
{
    smooth(c);
    for (int64_t i = 0, n = values(c); i < n; i++) {
        const float from = c->spare[i], v = from + factor * ((float)c->x[i] - from);
        c->x[i] = (uint8_t)(v <= 0.0f ? 0 : v >= 255.0f ? 255 : v);
    }
}

/* ---- affine maps ---- */

static double between(double a, double b, double share)
{
    return a + (b - a) * share;
}

/* The place (x, y) of the image, which lies inside it, from the four pixels around. */
static void bilinear(const canvas *c, double x, double y, uint8_t *to)
{
    const double px = x - 0.5, py = y - 0.5;
    const int64_t left = (int64_t)floor(px), top = (int64_t)floor(py);
    const double dx = px - (double)left, dy = py - (double)top;
    const int64_t x0 = left < 0 ? 0 : left, x1 = left + 1 < c->width ? left + 1 : c->width - 1;
    const int64_t y0 = top < 0 ? 0 : top, y1 = top + 1 < c->height ? top + 1 : y0;
    const uint8_t *upper = c->x + y0 * c->width * c->channels;
    const uint8_t *lower = c->x + y1 * c->width * c->channels;
    for (int64_t k = 0; k < c->channels; k++) {
        const int64_t a = x0 * c->channels + k, b = x1 * c->channels + k;
        to[k] = (uint8_t)between(between(upper[a], upper[b], dx),
                                 between(lower[a], lower[b], dx), dy);
    }
}

void augment_affine(const canvas *c, const double m[6])
{
    uint8_t *to = c->spare;
    for (int64_t row = 0; row < c->height; row++)
        for (int64_t column = 0; column < c->width; column++, to += c->channels) {
            const double u = (double)column + 0.5, v = (double)row + 0.5;
            const double x = m[0] * u + m[1] * v + m[2], y = m[3] * u + m[4] * v + m[5];
            if (x < 0.0 || x >= (double)c->width || y < 0.0 || y >= (double)c->height)
                memset(to, 0, (size_t)c->channels);
            else
                bilinear(c, x, y, to);
        }
    memcpy(c->x, c->spare, (size_t)values(c));
}

void augment_rotate(const canvas *c, double degrees)
{
    const double angle = -degrees * 3.14159265358979323846 / 180.0;
    const double cosine = rint(cos(angle) * 1e15) / 1e15, sine = rint(sin(angle) * 1e15) / 1e15;
    const double x = (double)c->width / 2.0, y = (double)c->height / 2.0;
    const double m[6] = {cosine, sine,   -cosine * x - sine * y + x,
                         -sine,  cosine, sine * x - cosine * y + y};
    augment_affine(c, m);
}
