/* resample.c - rows first, then columns; every output is a weighted sum of a run of inputs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "resample.h"

#include "resample_pixel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The weights of every output along one side. */
typedef struct taps {
    int32_t *first; /* of the run of inputs */
    int32_t *count;
    union {
        int32_t *fixed;
        float *real;
    } weight; /* `most` an output */
    int64_t most;
    int64_t n; /* outputs */
} taps;

static void taps_free(taps *t)
{
    free(t->first);
    free(t->count);
    free(t->weight.fixed);
    memset(t, 0, sizeof *t);
}

/* `t` is for taps_free even after an error. */
static tutti_status taps_make(taps *t, int64_t in, int64_t out, resample_filter filter,
                              int fixed, tutti_error *err)
{
    const int32_t cubic = filter == RESAMPLE_BICUBIC;
    t->n = out;
    t->most = (int64_t)ceil(resample_support(in, out, cubic)) * 2 + 1;
    t->first = malloc((size_t)out * sizeof *t->first);
    t->count = malloc((size_t)out * sizeof *t->count);
    t->weight.fixed = calloc((size_t)(out * t->most), sizeof *t->weight.fixed);
    if (!t->first || !t->count || !t->weight.fixed)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory to scale an image");
    for (int64_t k = 0; k < out; k++) {
        const resample_run r = resample_run_of(k, in, out, cubic);
        t->first[k] = (int32_t)r.first;
        t->count[k] = (int32_t)r.count;
        for (int64_t i = 0; i < r.count; i++)
            if (fixed)
                t->weight.fixed[k * t->most + i] = resample_fixed(resample_weight(r, i));
            else
                t->weight.real[k * t->most + i] = (float)resample_weight(r, i);
    }
    return TUTTI_OK;
}

/* ---- one pass over u8 ---- */

/* A row of pixels of C channels to a row of t->n. */
static inline void row_u8(const taps *t, const uint8_t *x, int64_t channels, uint8_t *y)
{
    for (int64_t k = 0; k < t->n; k++) {
        const int32_t *w = t->weight.fixed + k * t->most, count = t->count[k];
        const uint8_t *run = x + t->first[k] * channels;
        for (int64_t c = 0; c < channels; c++) {
            int32_t sum = 1 << (RESAMPLE_FRACTION - 1);
            for (int32_t i = 0; i < count; i++)
                sum += run[i * channels + c] * w[i];
            *y++ = resample_rounded(sum);
        }
    }
}

static void rows_u8(const taps *t, const resample_window *from, uint8_t *to)
{
    const int64_t c = from->channels;
    for (int64_t r = 0; r < from->height; r++) {
        const uint8_t *x = (const uint8_t *)from->data + r * from->row;
        uint8_t *y = to + r * t->n * c;
        if (c == 3) /* the usual number, known to the compiler */
            row_u8(t, x, 3, y);
        else
            row_u8(t, x, c, y);
    }
}

/* Rows of `n` values to t->n rows; `sums` has room for n. */
static void columns_u8(const taps *t, const uint8_t *from, int64_t n, int32_t *restrict sums,
                       uint8_t *restrict to)
{
    for (int64_t k = 0; k < t->n; k++, to += n) {
        for (int64_t x = 0; x < n; x++)
            sums[x] = 1 << (RESAMPLE_FRACTION - 1);
        for (int32_t i = 0; i < t->count[k]; i++) {
            const uint8_t *line = from + (t->first[k] + i) * n;
            const int32_t w = t->weight.fixed[k * t->most + i];
            for (int64_t x = 0; x < n; x++)
                sums[x] += line[x] * w;
        }
        for (int64_t x = 0; x < n; x++)
            to[x] = resample_rounded(sums[x]);
    }
}

/* ---- one pass over f32 ---- */

static void rows_f32(const taps *t, const resample_window *from, float *to)
{
    const int64_t channels = from->channels;
    for (int64_t r = 0; r < from->height; r++) {
        const float *x = (const float *)from->data + r * from->row;
        for (int64_t k = 0; k < t->n; k++)
            for (int64_t c = 0; c < channels; c++) {
                float sum = 0.0f;
                for (int32_t i = 0; i < t->count[k]; i++)
                    sum +=
                        x[(t->first[k] + i) * channels + c] * t->weight.real[k * t->most + i];
                *to++ = sum;
            }
    }
}

static void columns_f32(const taps *t, const float *from, int64_t n, float *restrict to)
{
    for (int64_t k = 0; k < t->n; k++, to += n) {
        memset(to, 0, (size_t)n * sizeof *to);
        for (int32_t i = 0; i < t->count[k]; i++) {
            const float *line = from + (t->first[k] + i) * n;
            const float w = t->weight.real[k * t->most + i];
            for (int64_t x = 0; x < n; x++)
                to[x] += line[x] * w;
        }
    }
}

/* ---- both ---- */

/* Memory for a value of `size` bytes at every place, or NULL. */
static void *resample_allocate(int64_t places, size_t size)
{
    return malloc((size_t)places * size);
}

tutti_status resample(const resample_window *from, int64_t height, int64_t width,
                      resample_filter filter, void *to, tutti_error *err)
{
    const int fixed = from->dtype == TUTTI_U8;
    const int64_t n = width * from->channels;
    taps across = {0}, down = {0};
    tutti_status s = taps_make(&across, from->width, width, filter, fixed, err);
    if (s == TUTTI_OK)
        s = taps_make(&down, from->height, height, filter, fixed, err);
    void *middle = resample_allocate(from->height * n, fixed ? 1 : sizeof(float));
    int32_t *sums = resample_allocate(n, sizeof *sums);
    if (s == TUTTI_OK && (!middle || !sums))
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory to scale an image");
    if (s == TUTTI_OK && fixed) {
        rows_u8(&across, from, middle);
        columns_u8(&down, middle, n, sums, to);
    } else if (s == TUTTI_OK) {
        rows_f32(&across, from, middle);
        columns_f32(&down, middle, n, to);
    }
    free(middle);
    free(sums);
    taps_free(&across);
    taps_free(&down);
    return s;
}

void resample_always(const resample_window *from, int64_t height, int64_t width,
                     resample_filter filter, void *to)
{
    const int32_t cubic = filter == RESAMPLE_BICUBIC, real = from->dtype == TUTTI_F32;
    const int64_t size = from->channels * (real ? 4 : 1);
    if (resample(from, height, width, filter, to, NULL) == TUTTI_OK)
        return;
    for (int64_t k = 0; k < height * width; k++)
        resample_pixel(from->data, from->row, from->channels, real,
                       resample_run_of(k / width, from->height, height, cubic),
                       resample_run_of(k % width, from->width, width, cubic),
                       (char *)to + k * size);
}
