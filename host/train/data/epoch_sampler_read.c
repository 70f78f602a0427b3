/* epoch_sampler_read.c - what samplers know of samples: weights of a file, classes, lengths. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/epoch_sampler_read.h"
#include "base/input_file.h"
#include "train/data/samples.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t whole_number(const tutti_tensor *t, int64_t k)
{
    switch (t->desc.dtype) {
    case TUTTI_I64:
        return ((const int64_t *)t->data)[k];
    case TUTTI_I32:
        return ((const int32_t *)t->data)[k];
    default:
        return ((const uint8_t *)t->data)[k];
    }
}

int64_t epoch_sampler_class_of(const tutti_column *columns, const tutti_tensor *values,
                               uint32_t k, tutti_error *err)
{
    const int64_t label = whole_number(&values[k], 0);
    if (label >= 0 && label < columns[k].classes)
        return label;
    (void)tutti_fail(err, TUTTI_E_RANGE, "column %s is %lld, want a class from 0 to %lld",
                     columns[k].name, (long long)label, (long long)columns[k].classes - 1);
    return -1;
}

int64_t epoch_sampler_length_of(const tutti_column *columns, const tutti_tensor *values,
                                uint32_t k, tutti_error *err)
{
    int64_t ones = 0;
    (void)err;
    if (strcmp(columns[k].name, "attention_mask") != 0)
        return values[k].desc.dim[0];
    for (int64_t i = 0, n = tutti_numel(&values[k].desc); i < n; i++)
        ones += whole_number(&values[k], i) != 0;
    return ones;
}

/* ---- samples ---- */

typedef struct sample_memory {
    void *data[TUTTI_MAX_COLUMNS];
    uint64_t capacity[TUTTI_MAX_COLUMNS];
} sample_memory;

static void memory_fini(sample_memory *m)
{
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++)
        free(m->data[k]);
}

/* Room for what `values` say of themselves. */
static tutti_status grow(sample_memory *m, const tutti_tensor *values, uint32_t n,
                         tutti_error *err)
{
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t bytes = tutti_nbytes(&values[k].desc);
        if (bytes <= m->capacity[k] && m->data[k])
            continue;
        free(m->data[k]);
        m->capacity[k] = bytes;
        if (!(m->data[k] = malloc(bytes + 1)))
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a sample");
    }
    return TUTTI_OK;
}

static bool is_of_one_shape(const tutti_desc *d)
{
    for (int32_t k = 0; k < d->rank; k++)
        if (d->dim[k] < 0)
            return false;
    return true;
}

/* A sample with room as it wants it. */
static tutti_status read_one(instance *dataset, const tutti_dataset_info *info, int64_t index,
                             sample_memory *m, tutti_tensor *values, tutti_error *err)
{
    const tutti_dataset_v1 *table = instance_query(dataset, TUTTI_DATASET_V1);
    tutti_status s = TUTTI_OK;
    for (int turn = 0; turn < 2; turn++) {
        if (turn && (s = grow(m, values, info->ncolumns, err)))
            return s;
        for (uint32_t k = 0; k < info->ncolumns; k++)
            values[k] = (tutti_tensor){m->data[k], info->columns[k].desc, TUTTI_DEVICE_CPU, 0};
        *err = (tutti_error)TUTTI_ERROR_INIT;
        s = samples_read_one(dataset, table, index, values, m->capacity, info->ncolumns, err);
        if (s != TUTTI_E_RANGE)
            return s;
    }
    return s;
}

/* Of a thread: what fits every sample of one shape. */
static void memory_init(sample_memory *m, const tutti_dataset_info *info)
{
    memset(m, 0, sizeof *m);
    for (uint32_t k = 0; k < info->ncolumns; k++) {
        m->capacity[k] =
            is_of_one_shape(&info->columns[k].desc) ? tutti_nbytes(&info->columns[k].desc) : 0;
        m->data[k] = malloc(m->capacity[k] + 1);
        m->capacity[k] = m->data[k] ? m->capacity[k] : 0;
    }
}

tutti_status epoch_sampler_read_samples(instance *dataset, const tutti_dataset_info *info,
                                        uint32_t k, epoch_sampler_measure *measure,
                                        uint32_t threads, int64_t *number, tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    int64_t bad = info->samples; /* the earliest that failed; later ones need not be read */
#pragma omp parallel num_threads((int)threads)
    {
        sample_memory m;
        memory_init(&m, info);
#pragma omp for schedule(dynamic, 16)
        for (int64_t i = 0; i < info->samples; i++) {
            tutti_tensor values[TUTTI_MAX_COLUMNS];
            tutti_error e = TUTTI_ERROR_INIT;
            int64_t known;
#pragma omp atomic read
            known = bad;
            if (i >= known)
                continue;
            if (!read_one(dataset, info, i, &m, values, &e))
                number[i] = measure(info->columns, values, k, &e);
            if (e.status) {
#pragma omp critical(epoch_sampler_failed)
                if (i < bad) {
                    cause = e;
#pragma omp atomic write
                    bad = i;
                }
            }
        }
        memory_fini(&m);
    }
    return bad < info->samples ? tutti_fail(err, cause.status, "sampler: sample %lld: %s",
                                            (long long)bad, cause.text)
                               : TUTTI_OK;
}

/* ---- weights ---- */

/* The number of a line, or -1. */
static double number_of(const char *line)
{
    char *end = NULL;
    const double x = strtod(line, &end);
    if (end == line)
        return -1.0;
    while (*end == ' ' || *end == '\t' || *end == '\r' || *end == '\n')
        end++;
    return *end || !isfinite(x) ? -1.0 : x;
}

static tutti_status read_lines(FILE *file, const char *path, int64_t samples, double *weight,
                               tutti_error *err)
{
    char *line = NULL;
    size_t size = 0;
    int64_t n = 0;
    double sum = 0.0;
    tutti_status s = TUTTI_OK;
    for (; !s && getline(&line, &size, file) >= 0; n++) {
        const double x = number_of(line);
        if (!(x >= 0.0))
            s = tutti_fail(err, TUTTI_E_FORMAT, "%s:%lld: want a weight, 0 or more", path,
                           (long long)n + 1);
        else if (n < samples)
            sum += weight[n] = x;
    }
    const int cause = errno;
    free(line);
    if (!s && !feof(file)) /* memory that ends is no error of the stream */
        return tutti_fail(err, cause == ENOMEM ? TUTTI_E_NOMEM : TUTTI_E_IO, "%s: %s", path,
                          strerror(cause));
    if (!s && n != samples)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s has %lld weights, there are %lld samples",
                          path, (long long)n, (long long)samples);
    if (!s && !(sum > 0.0 && isfinite(sum)))
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the weights add up to %g, want more than 0",
                          path, sum);
    return s;
}

tutti_status epoch_sampler_read_weights(const char *path, int64_t samples, double *weight,
                                        tutti_error *err)
{
    FILE *file;
    tutti_status s = input_file_open(path, &file, err);
    if (s)
        return s;
    s = read_lines(file, path, samples, weight, err);
    (void)fclose(file);
    return s;
}
