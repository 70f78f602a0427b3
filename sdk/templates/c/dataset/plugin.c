/* plugin.c - two_clouds: points around two places, to be told apart. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/dataset.h"
#include "tutti/rng.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

enum { FEATURES = 8 };

typedef struct clouds {
    int64_t samples;
    double distance;
} clouds;

static tutti_status two_clouds_info(void *self, tutti_dataset_info *ret_info, tutti_error *err)
{
    const clouds *c = self;
    (void)err;
    ret_info->samples = c->samples;
    ret_info->ncolumns = 2;
    ret_info->columns[0] = (tutti_column){"input", {{FEATURES}, 1, TUTTI_F32}, 0};
    ret_info->columns[1] = (tutti_column){"target", {{0}, 0, TUTTI_I32}, 2};
    return TUTTI_OK;
}

/* Called from several threads at once: what a sample is depends on its number alone. */
static tutti_status two_clouds_read(void *self, int64_t index, tutti_tensor *columns,
                                    const uint64_t *capacity, uint32_t ncolumns,
                                    tutti_error *err)
{
    const clouds *c = self;
    const uint32_t purpose = TUTTI_RNG_DATASET ^ (uint32_t)tutti_hash("org.example.two_clouds");
    const int32_t target = (int32_t)(index % 2);
    float x[FEATURES];
    if (index < 0 || index >= c->samples)
        return tutti_fail(err, TUTTI_E_RANGE, "two_clouds: there is no sample %lld of %lld",
                          (long long)index, (long long)c->samples);
    columns[0].desc = (tutti_desc){{FEATURES}, 1, TUTTI_F32};
    if (ncolumns > 1)
        columns[1].desc = (tutti_desc){{0}, 0, TUTTI_I32};
    if (capacity[0] < sizeof x || (ncolumns > 1 && capacity[1] < sizeof target))
        return tutti_fail(err, TUTTI_E_RANGE, "two_clouds: too little room for a sample");
    for (int k = 0; k < FEATURES; k += 2) {
        double a, b;
        tutti_normal_f64(tutti_rng(1, purpose, (uint64_t)k, (uint64_t)index), &a, &b);
        x[k] = (float)(a + c->distance * target);
        x[k + 1] = (float)(b - c->distance * target);
    }
    memcpy(columns[0].data, x, sizeof x);
    if (ncolumns > 1)
        memcpy(columns[1].data, &target, sizeof target);
    return TUTTI_OK;
}

static tutti_status two_clouds_open(const tutti_host *host, const tutti_params *params,
                                    void **ret_self, tutti_error *err)
{
    (void)host;
    clouds *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "two_clouds: no memory");
    c->samples = tutti_param_i64(params, "samples");
    c->distance = tutti_param_f64(params, "distance");
    *ret_self = c;
    return TUTTI_OK;
}

static tutti_status two_clouds_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const void *two_clouds_query(void *self, const char *interface_id)
{
    static const tutti_dataset_v1 table = {
        .struct_size = sizeof table, .info = two_clouds_info, .read = two_clouds_read};
    (void)self;
    return strcmp(interface_id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = two_clouds_open,
                                  .close = two_clouds_close,
                                  .query = two_clouds_query};
static const tutti_object object = TUTTI_OBJECT_INIT("two_clouds", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.example.two_clouds", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
