/* scale.h - one number of an image scaled bilinearly, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SELECTIVE_BACKPROP_SCALE_H
#define SELECTIVE_BACKPROP_SCALE_H

#include "tutti/cuda_code.h"

/* Where an output's row or column lies, pixel centres aligned: between two of the image, so far from the
 * first. */
typedef struct scale_place {
    int64_t low;
    int64_t high;
    float share;
} scale_place;

TUTTI_SHARED scale_place scale_at(int64_t at, double scale, int64_t size)
{
    scale_place between;
    double p = ((double)at + 0.5) / scale - 0.5;
    p = p < 0.0 ? 0.0 : p;
    between.low = (int64_t)p;
    if (between.low > size - 1)
        between.low = size - 1;
    between.high = between.low + 1 < size ? between.low + 1 : between.low;
    p -= (double)between.low;
    between.share = (float)(p < 1.0 ? p : 1.0);
    return between;
}

/* Channel c at (row, column) of an image (h, w, channels). */
TUTTI_SHARED float scale_value(const float *image, int64_t w, int64_t channels, int64_t c,
                               scale_place row, scale_place column)
{
    const float *top = image + row.low * w * channels + c;
    const float *bottom = image + row.high * w * channels + c;
    const float a = top[column.low * channels], b = top[column.high * channels];
    const float d = bottom[column.low * channels], e = bottom[column.high * channels];
    const float upper = a + column.share * (b - a);
    const float lower = d + column.share * (e - d);
    return upper + row.share * (lower - upper);
}

#endif
