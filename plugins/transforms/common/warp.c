/* warp.c - pictures moved by a matrix. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "warp.h"

#include <math.h>
#include <string.h>

static int64_t warp_inside(int64_t at, int64_t n)
{
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}

/* Writes the pixel between four others at (sx, sy); leaves `out` where that is outside. */
static void warp_blend(const picture *p, const uint8_t *x, double sx, double sy, uint8_t *out)
{
    const int64_t line = p->w * p->c;
    if (!(sx >= 0.0 && sx < (double)p->w && sy >= 0.0 && sy < (double)p->h))
        return;
    const double fx = floor(sx - 0.5), fy = floor(sy - 0.5);
    const double dx = sx - 0.5 - fx, dy = sy - 0.5 - fy;
    const int64_t left = warp_inside((int64_t)fx, p->w) * p->c;
    const int64_t right = warp_inside((int64_t)fx + 1, p->w) * p->c;
    const uint8_t *top = x + warp_inside((int64_t)fy, p->h) * line;
    const uint8_t *bottom = x + warp_inside((int64_t)fy + 1, p->h) * line;
    for (int64_t k = 0; k < p->c; k++) {
        const double a = top[left + k] + (top[right + k] - top[left + k]) * dx;
        const double b = bottom[left + k] + (bottom[right + k] - bottom[left + k]) * dx;
        out[k] = (uint8_t)(a + (b - a) * dy);
    }
}

/* The pixel of column `column` and row `row`, where there is one. */
static void warp_copy(const picture *p, const uint8_t *x, int64_t column, int64_t row,
                      uint8_t *out)
{
    if (column >= 0 && column < p->w && row >= 0 && row < p->h)
        memcpy(out, x + (row * p->w + column) * p->c, (size_t)p->c);
}

static void warp_start(const picture *x, const warp_options *o, uint8_t *scratch)
{
    const int64_t n = x->h * x->w * x->c;
    memcpy(scratch, x->pixels, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        x->pixels[i] = o->fill[i % x->c];
}

/* Pillow steps along rows in 16.16 fixed point. */
static int64_t warp_fix(double v)
{
    return (int64_t)floor(v * 65536.0 + 0.5);
}

static void nearest_fixed(const picture *x, const double m[6], const uint8_t *from)
{
    int64_t sx = warp_fix(m[2] + m[0] * 0.5 + m[1] * 0.5);
    int64_t sy = warp_fix(m[5] + m[3] * 0.5 + m[4] * 0.5);
    for (int64_t row = 0; row < x->h; row++) {
        for (int64_t k = 0; k < x->w; k++)
            warp_copy(x, from, (sx + k * warp_fix(m[0])) >> 16, (sy + k * warp_fix(m[3])) >> 16,
                      x->pixels + (row * x->w + k) * x->c);
        sx += warp_fix(m[1]);
        sy += warp_fix(m[4]);
    }
}

static int64_t warp_floor(double v)
{
    return v < 0.0 ? -1 : v < 9e15 ? (int64_t)v : INT64_MAX;
}

/* Where rows stay rows and columns columns, it adds up in floating point. */
static void nearest_scaled(const picture *x, const double m[6], const uint8_t *from)
{
    double sy = m[5] + m[4] * 0.5;
    for (int64_t row = 0; row < x->h; row++) {
        double sx = m[2] + m[0] * 0.5;
        for (int64_t k = 0; k < x->w; k++) {
            warp_copy(x, from, warp_floor(sx), warp_floor(sy),
                      x->pixels + (row * x->w + k) * x->c);
            sx += m[0];
        }
        sy += m[4];
    }
}

void warp_affine(const picture *x, const double m[6], const warp_options *o, uint8_t *scratch)
{
    warp_start(x, o, scratch);
    if (o->filter == WARP_NEAREST && m[1] == 0.0 && m[3] == 0.0)
        nearest_scaled(x, m, scratch);
    else if (o->filter == WARP_NEAREST)
        nearest_fixed(x, m, scratch);
    for (int64_t i = 0; o->filter == WARP_BILINEAR && i < x->h * x->w; i++) {
        const double column = (double)(i % x->w) + 0.5, row = (double)(i / x->w) + 0.5;
        warp_blend(x, scratch, m[0] * column + m[1] * row + m[2],
                   m[3] * column + m[4] * row + m[5], x->pixels + i * x->c);
    }
}

void warp_perspective(const picture *x, const double c[8], const warp_options *o,
                      uint8_t *scratch)
{
    warp_start(x, o, scratch);
    for (int64_t i = 0; i < x->h * x->w; i++) {
        const double column = (double)(i % x->w) + 0.5, row = (double)(i / x->w) + 0.5;
        const double w = c[6] * column + c[7] * row + 1.0;
        const double sx = (c[0] * column + c[1] * row + c[2]) / w;
        const double sy = (c[3] * column + c[4] * row + c[5]) / w;
        if (o->filter == WARP_BILINEAR)
            warp_blend(x, scratch, sx, sy, x->pixels + i * x->c);
        else
            warp_copy(x, scratch, warp_floor(sx), warp_floor(sy), x->pixels + i * x->c);
    }
}

void warp_inverse(const warp_change *c, double m[6])
{
    const double radians = acos(-1.0) / 180.0;
    const double turn = c->degrees * radians, sx = c->shear[0] * radians,
                 sy = c->shear[1] * radians;
    /* turn * shear along y * shear along x = [a b; c d], of determinant 1 */
    const double a = cos(turn - sy) / cos(sy);
    const double b = -cos(turn - sy) * tan(sx) / cos(sy) - sin(turn);
    const double l = sin(turn - sy) / cos(sy);
    const double d = -sin(turn - sy) * tan(sx) / cos(sy) + cos(turn);
    const double at[2] = {-c->center[0] - c->translate[0], -c->center[1] - c->translate[1]};
    m[0] = d / c->scale;
    m[1] = -b / c->scale;
    m[3] = -l / c->scale;
    m[4] = a / c->scale;
    m[2] = m[0] * at[0] + m[1] * at[1] + c->center[0];
    m[5] = m[3] * at[0] + m[4] * at[1] + c->center[1];
}

void warp_rotate(const picture *x, double degrees, const warp_options *o, uint8_t *scratch)
{
    const double angle = -fmod(degrees, 360.0) * acos(-1.0) / 180.0;
    const double c = rint(cos(angle) * 1e15) / 1e15, s = rint(sin(angle) * 1e15) / 1e15;
    const double cx = (double)x->w / 2.0, cy = (double)x->h / 2.0;
    const double m[6] = {c, s, (c * -cx + s * -cy) + cx, -s, c, (-s * -cx + c * -cy) + cy};
    if (angle != 0.0)
        warp_affine(x, m, o, scratch);
}
