/* plugin.c - negate: the input with its sign turned, for a share of the samples. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/rng.h"
#include "tutti/transform.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

typedef struct turning {
    double share;
} turning;

/* Shapes and dtypes stay as they are. */
static tutti_status negate_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                 tutti_error *err)
{
    (void)self;
    for (uint32_t k = 0; k < ncolumns; k++)
        if (strcmp(columns[k].name, "input") == 0 && columns[k].desc.dtype == TUTTI_F32)
            return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_ARG, "negate: there is no column \"input\" of F32");
}

/* The draw depends on the sample alone: a resumed run draws what the other one would have. */
static int32_t negate_apply(void *self, const tutti_sample *sample, uint32_t k,
                            const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    const turning *t = self;
    const uint32_t purpose = TUTTI_RNG_TRANSFORM ^ (uint32_t)tutti_hash("org.example.negate");
    const tutti_rng4 draw = tutti_rng(sample->seed, purpose, sample->epoch, sample->index);
    const float *from = in->data;
    float *to = out->data;
    (void)err;
    if (k != 0 || in->desc.dtype != TUTTI_F32 || draw.v[0] * 0x1p-32 >= t->share)
        return 0;
    for (int64_t n = tutti_numel(&in->desc), i = 0; i < n; i++)
        to[i] = -from[i];
    out->desc = in->desc;
    return 1;
}

static tutti_status negate_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    (void)host;
    turning *t = calloc(1, sizeof *t);
    if (!t)
        return tutti_fail(err, TUTTI_E_NOMEM, "negate: no memory");
    t->share = tutti_param_f64(params, "share");
    *ret_self = t;
    return TUTTI_OK;
}

static tutti_status negate_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const void *negate_query(void *self, const char *interface_id)
{
    static const tutti_transform_v1 table = {
        .struct_size = sizeof table, .infer = negate_infer, .apply = negate_apply};
    (void)self;
    return strcmp(interface_id, TUTTI_TRANSFORM_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = negate_open,
                                  .close = negate_close,
                                  .query = negate_query};
static const tutti_object object = TUTTI_OBJECT_INIT("negate", TUTTI_KIND_TRANSFORM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.example.negate", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
