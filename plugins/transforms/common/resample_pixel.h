/* resample_pixel.h - the weights of a scaled image, and one pixel of it, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TRANSFORMS_RESAMPLE_PIXEL_H
#define PLUGIN_TRANSFORMS_RESAMPLE_PIXEL_H

#include "tutti/cuda_code.h"

#include <math.h>

/* Sums of u8 values times weights of 22 bits fit into 32 bits with their sign. */
enum { RESAMPLE_FRACTION = 22, RESAMPLE_AT_ONCE = 4 };

/* The inputs that an output sums up along one side. */
typedef struct resample_run {
    int64_t first;
    int64_t count;
    double center;
    double step; /* of the filter from an input to the next */
    double sum;  /* of the filter's values, by which weights are divided */
    int32_t cubic;
    int32_t reserved;
} resample_run;

/* Bilinear, or Keys, "Cubic convolution interpolation for digital image processing" (1981), a = -1/2. */
TUTTI_SHARED double resample_filtered(double x, int32_t cubic)
{
    const double a = -0.5, t = fabs(x);
    if (!cubic)
        return t < 1.0 ? 1.0 - t : 0.0;
    if (t < 1.0)
        return ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0;
    return t < 2.0 ? (((t - 5.0) * t + 8.0) * t - 4.0) * a : 0.0;
}

TUTTI_SHARED double resample_value(resample_run r, int64_t i)
{
    return resample_filtered(((double)(i + r.first) - r.center + 0.5) * r.step, r.cubic);
}

/* Half of the inputs that a filter reaches. */
TUTTI_SHARED double resample_support(int64_t in, int64_t out, int32_t cubic)
{
    const double scale = (double)in / (double)out;
    return (cubic ? 2.0 : 1.0) * (scale > 1.0 ? scale : 1.0);
}

/* Of output `k` of `out`, from `in` inputs. */
TUTTI_SHARED resample_run resample_run_of(int64_t k, int64_t in, int64_t out, int32_t cubic)
{
    const double scale = (double)in / (double)out, support = resample_support(in, out, cubic);
    const double center = ((double)k + 0.5) * scale;
    const double low = center - support + 0.5, high = center + support + 0.5;
    const int64_t first = low < 0.0 ? 0 : (int64_t)low;
    const int64_t past = high > (double)in ? in : (int64_t)high;
    resample_run r = {first, past - first, center, scale > 1.0 ? 1.0 / scale : 1.0,
                      0.0,   cubic,        0};
    for (int64_t i = 0; i < r.count; i++)
        r.sum += resample_value(r, i);
    return r;
}

TUTTI_SHARED double resample_weight(resample_run r, int64_t i)
{
    const double value = resample_value(r, i);
    return r.sum != 0.0 ? value / r.sum : value;
}

TUTTI_SHARED int32_t resample_fixed(double w)
{
    return (int32_t)(w * (1 << RESAMPLE_FRACTION) + (w < 0 ? -0.5 : 0.5));
}

TUTTI_SHARED uint8_t resample_rounded(int32_t sum)
{
    const int32_t v = sum >> RESAMPLE_FRACTION;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* x: the window's first pixel, `row` values from a row to the next; y: the pixel that `down` and `across`
 * are of. */
TUTTI_SHARED void resample_pixel_u8(const uint8_t *x, int64_t row, int64_t channels,
                                    resample_run down, resample_run across, uint8_t *y)
{
    for (int64_t c0 = 0; c0 < channels; c0 += RESAMPLE_AT_ONCE) {
        const int32_t half = 1 << (RESAMPLE_FRACTION - 1);
        int32_t all[RESAMPLE_AT_ONCE] = {half, half, half, half};
        for (int64_t i = 0; i < down.count; i++) {
            const uint8_t *line = x + (down.first + i) * row + across.first * channels + c0;
            const int32_t height = resample_fixed(resample_weight(down, i));
            int32_t sum[RESAMPLE_AT_ONCE] = {half, half, half, half};
            for (int64_t j = 0; j < across.count; j++, line += channels) {
                const int32_t w = resample_fixed(resample_weight(across, j));
                for (int c = 0; c < RESAMPLE_AT_ONCE; c++)
                    sum[c] += c0 + c < channels ? line[c] * w : 0;
            }
            for (int c = 0; c < RESAMPLE_AT_ONCE; c++)
                all[c] += resample_rounded(sum[c]) * height;
        }
        for (int c = 0; c < RESAMPLE_AT_ONCE; c++)
            if (c0 + c < channels)
                y[c0 + c] = resample_rounded(all[c]);
    }
}

TUTTI_SHARED void resample_pixel_f32(const float *x, int64_t row, int64_t channels,
                                     resample_run down, resample_run across, float *y)
{
    for (int64_t c = 0; c < channels; c++) {
        float all = 0.0f;
        for (int64_t i = 0; i < down.count; i++) {
            const float *line = x + (down.first + i) * row + across.first * channels + c;
            float sum = 0.0f;
            for (int64_t j = 0; j < across.count; j++)
                sum += line[j * channels] * (float)resample_weight(across, j);
            all += sum * (float)resample_weight(down, i);
        }
        y[c] = all;
    }
}

/* `real`: f32, else u8; x and `row` in bytes' or floats' own. */
TUTTI_SHARED void resample_pixel(const void *x, int64_t row, int64_t channels, int32_t real,
                                 resample_run down, resample_run across, void *y)
{
    if (real)
        resample_pixel_f32((const float *)x, row, channels, down, across, (float *)y);
    else
        resample_pixel_u8((const uint8_t *)x, row, channels, down, across, (uint8_t *)y);
}

#endif
