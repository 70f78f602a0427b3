/* plugin.c - samples: data that costs nothing to read, for timing everything else. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/dataset.h"
#include "tutti/rng.h"
#include "tutti/tutti.h"

#include <stdlib.h>

/* All samples one after the other; column 0 first of each. */
typedef struct samples {
    tutti_dataset_info info;
    uint64_t bytes[2]; /* of one sample's columns */
    char *data[2];
} samples;

static tutti_status samples_close(void *self, tutti_error *err)
{
    samples *s = self;
    (void)err;
    if (s) {
        free(s->data[0]);
        free(s->data[1]);
    }
    free(s);
    return TUTTI_OK;
}

/* Room for all samples. */
static tutti_status make_room(samples *s, tutti_error *err)
{
    const int64_t count = s->info.samples;
    s->info.struct_size = sizeof s->info;
    s->info.ncolumns = 2;
    for (int k = 0; k < 2; k++) {
        s->bytes[k] = tutti_nbytes(&s->info.columns[k].desc);
        s->data[k] = calloc((size_t)count, s->bytes[k]);
        if (!s->data[k])
            return tutti_fail(err, TUTTI_E_NOMEM, "samples: no memory for %lld of them",
                              (long long)count);
    }
    return TUTTI_OK;
}

static tutti_status images_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    samples *s = calloc(1, sizeof *s);
    (void)host;
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "samples: no memory");
    const tutti_column target = {
        "target", {{0}, 0, TUTTI_I32}, tutti_param_i64(params, "classes")};
    s->info.samples = tutti_param_i64(params, "samples");
    s->info.columns[0] = (tutti_column){"input", {{0}, 0, TUTTI_F32}, 0};
    s->info.columns[1] = target;
    const tutti_param *shape = tutti_param_find(params, "shape");
    tutti_desc *d = &s->info.columns[0].desc;
    for (uint64_t k = 0; shape && k < shape->count && k < 4; k++)
        d->dim[d->rank++] = shape->items[k]->i;
    const tutti_status status = make_room(s, err);
    if (status) {
        (void)samples_close(s, NULL);
        return status;
    }
    tutti_stream stream = tutti_stream_at(1, TUTTI_RNG_DATASET, 0, 0);
    float *x = (float *)s->data[0];
    const uint64_t count = s->bytes[0] / sizeof *x * (uint64_t)s->info.samples;
    for (uint64_t k = 0; k < count; k++)
        x[k] = (float)(int32_t)tutti_stream_below(&stream, 2001) / 1000.0f - 1.0f;
    for (int64_t k = 0; k < s->info.samples; k++)
        ((int32_t *)s->data[1])[k] =
            (int32_t)tutti_stream_below(&stream, (uint32_t)target.classes);
    *ret_self = s;
    return TUTTI_OK;
}

static tutti_status tokens_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    samples *s = calloc(1, sizeof *s);
    (void)host;
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "samples: no memory");
    const int64_t length = tutti_param_i64(params, "length");
    const int64_t vocabulary = tutti_param_i64(params, "vocabulary");
    s->info.samples = tutti_param_i64(params, "samples");
    s->info.columns[0] = (tutti_column){"input", {{length}, 1, TUTTI_I32}, vocabulary};
    s->info.columns[1] = (tutti_column){"target", {{length}, 1, TUTTI_I32}, vocabulary};
    const tutti_status status = make_room(s, err);
    if (status) {
        (void)samples_close(s, NULL);
        return status;
    }
    tutti_stream stream = tutti_stream_at(1, TUTTI_RNG_DATASET, 0, 0);
    for (int64_t n = 0; n < s->info.samples; n++) {
        int32_t *input = (int32_t *)s->data[0] + n * length;
        int32_t *target = (int32_t *)s->data[1] + n * length;
        for (int64_t k = 0; k < length; k++)
            input[k] = (int32_t)tutti_stream_below(&stream, (uint32_t)vocabulary);
        memcpy(target, input + 1, (size_t)(length - 1) * sizeof *target);
        target[length - 1] = input[0];
    }
    *ret_self = s;
    return TUTTI_OK;
}

static tutti_status samples_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    const samples *s = self;
    (void)err;
    ret->samples = s->info.samples;
    ret->ncolumns = s->info.ncolumns;
    memcpy(ret->columns, s->info.columns, sizeof ret->columns);
    return TUTTI_OK;
}

static tutti_status samples_read(void *self, int64_t index, tutti_tensor *columns,
                                 const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    const samples *s = self;
    for (uint32_t k = 0; k < ncolumns && k < 2; k++) {
        columns[k].desc = s->info.columns[k].desc;
        if (capacity[k] < s->bytes[k])
            return tutti_fail(err, TUTTI_E_RANGE, "samples: too little room for a sample");
        memcpy(columns[k].data, s->data[k] + (uint64_t)index * s->bytes[k], s->bytes[k]);
    }
    return TUTTI_OK;
}

static const void *samples_query(void *self, const char *id)
{
    static const tutti_dataset_v1 table = {
        .struct_size = sizeof table, .info = samples_info, .read = samples_read};
    (void)self;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static const tutti_calls images_calls = {.struct_size = sizeof images_calls,
                                         .open = images_open,
                                         .close = samples_close,
                                         .query = samples_query};
static const tutti_calls tokens_calls = {.struct_size = sizeof tokens_calls,
                                         .open = tokens_open,
                                         .close = samples_close,
                                         .query = samples_query};
static const tutti_object images =
    TUTTI_OBJECT_INIT("sample_images", TUTTI_KIND_DATASET, &images_calls);
static const tutti_object tokens =
    TUTTI_OBJECT_INIT("sample_tokens", TUTTI_KIND_DATASET, &tokens_calls);
static const tutti_object *const objects[] = {&images, &tokens, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.bench.samples", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
