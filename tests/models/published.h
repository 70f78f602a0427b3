/* published.h - a .safetensors file as other programs publish their models, with random weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_MODELS_PUBLISHED_H
#define TESTS_MODELS_PUBLISHED_H

#include "tutti/rng.h"
#include "tutti_check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { PUBLISHED_TENSORS = 96, PUBLISHED_NAME = 80 };

/* The file's tensors, f32, as they lie. */
typedef struct published {
    char names[PUBLISHED_TENSORS][PUBLISHED_NAME];
    int64_t shape[PUBLISHED_TENSORS][2];
    int32_t rank[PUBLISHED_TENSORS];
    float *data[PUBLISHED_TENSORS];
    int count;
    char path[64];
} published;

static inline int64_t published_size(const published *f, int k)
{
    return f->shape[k][0] * (f->rank[k] == 2 ? f->shape[k][1] : 1);
}

/* Adds a tensor of random numbers about `centre`, (rows, cols), or (cols) where `rows` is 0. */
TUTTI_PRINTF(5, 6)
static inline void publish(published *f, int64_t rows, int64_t cols, double centre,
                           const char *format, ...)
{
    const int k = f->count++;
    tutti_stream r = tutti_stream_at(31, TUTTI_RNG_PLUGIN, (uint64_t)k, 0);
    va_list args;
    ck_assert_int_lt(k, PUBLISHED_TENSORS);
    va_start(args, format);
    (void)vsnprintf(f->names[k], PUBLISHED_NAME, format, args);
    va_end(args);
    f->rank[k] = rows ? 2 : 1;
    f->shape[k][0] = rows ? rows : cols;
    f->shape[k][1] = cols;
    f->data[k] = malloc((size_t)published_size(f, k) * sizeof(float));
    ck_assert_ptr_nonnull(f->data[k]);
    for (int64_t i = 0; i < published_size(f, k); i++)
        f->data[k][i] = (float)(centre + tutti_stream_uniform(&r) - 0.5);
}

/* The tensor of that name. */
TUTTI_PRINTF(2, 3)
static inline const float *published_find(const published *f, const char *format, ...)
{
    char name[PUBLISHED_NAME];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(name, sizeof name, format, args);
    va_end(args);
    for (int k = 0; k < f->count; k++)
        if (strcmp(f->names[k], name) == 0)
            return f->data[k];
    ck_abort_msg("no tensor %s", name);
    return NULL;
}

/* Writes a file of its own; names in the header run backwards, each with `prefix`. */
static inline void published_write(published *f, const char *prefix)
{
    char header[16384];
    int64_t end = 0;
    size_t used =
        (size_t)snprintf(header, sizeof header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int k = 0; k < f->count; k++)
        end += published_size(f, k) * 4;
    for (int k = f->count; k-- > 0;) {
        const int64_t first = end - published_size(f, k) * 4;
        used += (size_t)snprintf(header + used, sizeof header - used,
                                 ",\"%s%s\":{\"dtype\":\"F32\",\"shape\":[%lld", prefix,
                                 f->names[k], (long long)f->shape[k][0]);
        if (f->rank[k] == 2)
            used += (size_t)snprintf(header + used, sizeof header - used, ",%lld",
                                     (long long)f->shape[k][1]);
        used += (size_t)snprintf(header + used, sizeof header - used,
                                 "],\"data_offsets\":[%lld,%lld]}", (long long)first,
                                 (long long)end);
        ck_assert_uint_lt(used, sizeof header - 16);
        end = first;
    }
    header[used++] = '}';
    while (used % 8)
        header[used++] = ' ';
    strcpy(f->path, "/tmp/tutti_published_XXXXXX");
    const int fd = mkstemp(f->path);
    ck_assert_int_ge(fd, 0);
    FILE *file = fdopen(fd, "wb");
    ck_assert_ptr_nonnull(file);
    for (int k = 0; k < 8; k++)
        ck_assert_int_ne(fputc((int)(used >> 8 * k & 255), file), EOF);
    ck_assert_uint_eq(fwrite(header, 1, used, file), used);
    for (int k = 0; k < f->count; k++)
        ck_assert_uint_eq(fwrite(f->data[k], 4, (size_t)published_size(f, k), file),
                          (size_t)published_size(f, k));
    ck_assert_int_eq(fclose(file), 0);
}

static inline void published_close(published *f)
{
    for (int k = 0; k < f->count; k++)
        free(f->data[k]);
    ck_assert_int_eq(unlink(f->path), 0);
}

/* ---- arithmetic in f64 for models written out once more ---- */

/* y = (x - mean) / sqrt(var + eps) w + bias, over n numbers; y may be x */
static inline void normalise(const double *x, const float *w, const float *bias, int n,
                             double eps, double *y)
{
    double mean = 0, var = 0;
    for (int c = 0; c < n; c++)
        mean += x[c] / n;
    for (int c = 0; c < n; c++)
        var += (x[c] - mean) * (x[c] - mean) / n;
    for (int c = 0; c < n; c++)
        y[c] = (x[c] - mean) / sqrt(var + eps) * (double)w[c] + (double)bias[c];
}

#endif
