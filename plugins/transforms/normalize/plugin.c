/* plugin.c - normalize: (x / 255 - mean) / std, a channel at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/rng.h"
#include "tutti/transform.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CHANNELS = 64 };

typedef struct normalize {
    uint32_t n;
    float scale[MAX_CHANNELS]; /* y = scale x + shift */
    float shift[MAX_CHANNELS];
} normalize;

/* Images are u8 columns of rank 3; others stay as they are. */
static int is_image(const tutti_desc *d)
{
    return d->dtype == TUTTI_U8 && d->rank == 3;
}

static tutti_status infer(void *self, tutti_column *columns, uint32_t ncolumns,
                          tutti_error *err)
{
    const normalize *m = self;
    for (uint32_t k = 0; k < ncolumns; k++) {
        if (!is_image(&columns[k].desc))
            continue;
        if (columns[k].desc.dim[2] != m->n)
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "normalize: column %s has %lld channels, mean and std have %u",
                              columns[k].name, (long long)columns[k].desc.dim[2], m->n);
        columns[k].desc.dtype = TUTTI_F32;
    }
    return TUTTI_OK;
}

static int32_t apply(void *self, const tutti_sample *sample, uint32_t k, const tutti_tensor *in,
                     tutti_tensor *out, tutti_error *err)
{
    const normalize *m = self;
    (void)sample, (void)k, (void)err;
    if (!is_image(&in->desc))
        return 0;
    const uint8_t *x = in->data;
    float *y = out->data;
    const int64_t pixels = in->desc.dim[0] * in->desc.dim[1], n = m->n;
    out->desc = in->desc;
    out->desc.dtype = TUTTI_F32;
    if (n == 3)
        for (int64_t i = 0; i < 3 * pixels; i += 3)
            for (int c = 0; c < 3; c++)
                y[i + c] = m->scale[c] * (float)x[i + c] + m->shift[c];
    else
        for (int64_t i = 0; i < pixels; i++)
            for (int64_t c = 0; c < n; c++)
                y[i * n + c] = m->scale[c] * (float)x[i * n + c] + m->shift[c];
    return 1;
}

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    (void)host;
    const tutti_param *mean = tutti_param_find(params, "mean");
    const tutti_param *std = tutti_param_find(params, "std");
    if (mean->count != std->count)
        return tutti_fail(err, TUTTI_E_ARG, "normalize: mean has %llu entries and std %llu",
                          (unsigned long long)mean->count, (unsigned long long)std->count);
    normalize *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "normalize: no memory");
    m->n = (uint32_t)mean->count;
    for (uint32_t k = 0; k < m->n; k++) {
        m->scale[k] = (float)(1.0 / (255.0 * std->items[k]->f));
        m->shift[k] = (float)(-mean->items[k]->f / std->items[k]->f);
    }
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const tutti_transform_v1 table = {sizeof table, 0, infer, apply};

static const void *query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_TRANSFORM_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {sizeof calls, 0, open, NULL, NULL, NULL, close, NULL, query};
static const tutti_object object = TUTTI_OBJECT_INIT("normalize", TUTTI_KIND_TRANSFORM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.normalize", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
