/* elastic.h - where pixels come from, out of uniform draws, and what that makes of a picture. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELASTIC_TRANSFORM_ELASTIC_H
#define ELASTIC_TRANSFORM_ELASTIC_H

#include "../common/blur.h"
#include "../common/warp.h"

#include <math.h>

typedef struct elastic {
    double p;
    double alpha[2], sigma[2]; /* along x, along y */
    warp_options warp;
} elastic;

/* The side of the kernel for displacements along `axis`: odd, about eight times its sigma. */
static inline int64_t elastic_kernel(const elastic *t, int axis)
{
    return (int64_t)(8.0 * t->sigma[axis] + 1.0) | 1;
}

/* Turns draws (h, w) from 0 to 1 into pixels along `axis`, smoothed along both; `scratch` has room for them. */
static inline void elastic_smooth(const elastic *t, int axis, int64_t h, int64_t w,
                                  float *field, float *scratch)
{
    const int64_t side = elastic_kernel(t, axis);
    const blur_kernel kernel = {{side, side}, {t->sigma[0], t->sigma[1]}};
    for (int64_t i = 0; i < h * w; i++)
        field[i] = 2.0f * field[i] - 1.0f;
    if (t->sigma[axis] > 0.0)
        blur(field, h, w, 1, &kernel, scratch);
    for (int64_t i = 0; i < h * w; i++)
        field[i] = (float)(0.5 * t->alpha[axis] * (double)field[i]);
}

/* The pixel nearest to (sx, sy), where there is one. */
static inline void elastic_nearest(const picture *x, const uint8_t *from, double sx, double sy,
                                   uint8_t *out)
{
    const double column = rint(sx), row = rint(sy);
    if (column >= 0.0 && column < (double)x->w && row >= 0.0 && row < (double)x->h)
        for (int64_t k = 0; k < x->c; k++)
            out[k] = from[((int64_t)row * x->w + (int64_t)column) * x->c + k];
}

/* Of four pixels about (sx, sy), black outside of the picture, blended with the fill by how much of them is outside. */
static inline void elastic_blend(const picture *x, const uint8_t *from, double sx, double sy,
                                 uint8_t *out)
{
    const double left = floor(sx), top = floor(sy);
    double sum[4] = {0.0}, inside = 0.0;
    for (int k = 0; k < 4; k++) {
        const double column = left + k % 2, row = top + k / 2;
        if (!(column >= 0.0 && column < (double)x->w && row >= 0.0 && row < (double)x->h))
            continue;
        const double share = (1.0 - fabs(sx - column)) * (1.0 - fabs(sy - row));
        const uint8_t *at = from + ((int64_t)row * x->w + (int64_t)column) * x->c;
        inside += share;
        for (int64_t c = 0; c < x->c; c++)
            sum[c] += share * at[c];
    }
    for (int64_t c = 0; c < x->c; c++)
        out[c] = (uint8_t)rint((sum[c] - out[c]) * inside + out[c]);
}

/* Each pixel from where dx and dy (h, w) lead; `from` has room for the picture. */
static inline void elastic_move(const picture *x, const float *dx, const float *dy,
                                const warp_options *o, uint8_t *from)
{
    for (int64_t i = 0; i < x->h * x->w * x->c; i++) {
        from[i] = x->pixels[i];
        x->pixels[i] = o->fill[i % x->c];
    }
    for (int64_t i = 0; i < x->h * x->w; i++) {
        const double sx = (double)(i % x->w) + (double)dx[i];
        const double sy = (double)(i / x->w) + (double)dy[i];
        (o->filter == WARP_NEAREST ? elastic_nearest : elastic_blend)(x, from, sx, sy,
                                                                      x->pixels + i * x->c);
    }
}

#endif
