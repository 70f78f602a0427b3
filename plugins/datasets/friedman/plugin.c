/* plugin.c - friedman: rows of numbers and a function of five of them, a new row for every index. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/dataset.h"
#include "tutti/rng.h"
#include "tutti/tutti.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEST_OFFSET = 1 << 30 };
static const double pi = 3.14159265358979323846;

typedef struct friedman {
    int64_t samples;
    int64_t features;
    uint64_t seed;
    uint64_t offset;
    double noise;
} friedman;

static tutti_status friedman_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    const friedman *d = self;
    (void)err;
    ret->samples = d->samples;
    ret->ncolumns = 2;
    ret->columns[0] = (tutti_column){"input", {{d->features}, 1, TUTTI_F32}, 0};
    ret->columns[1] = (tutti_column){"target", {{0}, 0, TUTTI_F32}, 0};
    return TUTTI_OK;
}

/* A standard normal number (Box and Muller). */
static double friedman_normal(tutti_stream *s)
{
    const double u = 1.0 - tutti_stream_uniform(s), v = tutti_stream_uniform(s);
    return sqrt(-2.0 * log(u)) * cos(2.0 * pi * v);
}

static tutti_status friedman_read(void *self, int64_t index, tutti_tensor *columns,
                                  const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    const friedman *d = self;
    if (index < 0 || index >= d->samples || ncolumns != 2)
        return tutti_fail(err, TUTTI_E_RANGE, "friedman: sample %lld, there are %lld",
                          (long long)index, (long long)d->samples);
    if (capacity[0] < (uint64_t)d->features * sizeof(float) || capacity[1] < sizeof(float))
        return tutti_fail(err, TUTTI_E_RANGE, "friedman: too little room for a sample");
    tutti_stream s =
        tutti_stream_at(d->seed, TUTTI_RNG_DATASET, 0, d->offset + (uint64_t)index);
    float *x = columns[0].data;
    for (int64_t k = 0; k < d->features; k++)
        x[k] = (float)tutti_stream_uniform(&s);
    const double bend = (double)x[2] - 0.5;
    const double y = 10.0 * sin(pi * (double)x[0] * (double)x[1]) + 20.0 * bend * bend +
                     10.0 * (double)x[3] + 5.0 * (double)x[4];
    *(float *)columns[1].data = (float)(y + d->noise * friedman_normal(&s));
    columns[0].desc = (tutti_desc){{d->features}, 1, TUTTI_F32};
    columns[1].desc = (tutti_desc){{0}, 0, TUTTI_F32};
    return TUTTI_OK;
}

static tutti_status friedman_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    (void)host;
    friedman *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "friedman: no memory");
    d->samples = tutti_param_i64(params, "samples");
    d->features = tutti_param_i64(params, "features");
    d->seed = (uint64_t)tutti_param_i64(params, "seed");
    d->noise = tutti_param_f64(params, "noise");
    d->offset = strcmp(tutti_param_str(params, "split"), "test") == 0 ? TEST_OFFSET : 0;
    *ret_self = d;
    return TUTTI_OK;
}

static tutti_status friedman_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const void *friedman_query(void *self, const char *id)
{
    static const tutti_dataset_v1 table = {
        .struct_size = sizeof table, .info = friedman_info, .read = friedman_read};
    (void)self;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = friedman_open,
                                  .close = friedman_close,
                                  .query = friedman_query};
static const tutti_object object = TUTTI_OBJECT_INIT("friedman", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.friedman", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
