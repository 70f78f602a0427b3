/* plugin.c - random_flip: the image mirrored left to right, at random. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/rng.h"
#include "tutti/transform.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

typedef struct flip {
    double p;
} flip;

static int is_image(const tutti_desc *d)
{
    return d->rank == 3 && (d->dtype == TUTTI_U8 || d->dtype == TUTTI_F32);
}

static tutti_status infer(void *self, tutti_column *columns, uint32_t ncolumns,
                          tutti_error *err)
{
    (void)self, (void)columns, (void)ncolumns, (void)err;
    return TUTTI_OK;
}

static int32_t apply(void *self, const tutti_sample *sample, uint32_t k, const tutti_tensor *in,
                     tutti_tensor *out, tutti_error *err)
{
    const flip *f = self;
    (void)k, (void)err;
    if (!is_image(&in->desc))
        return 0;
    tutti_stream s =
        tutti_stream_at(sample->seed, TUTTI_RNG_TRANSFORM ^ (uint32_t)tutti_hash("random_flip"),
                        sample->epoch, sample->index);
    if (tutti_stream_uniform(&s) >= f->p)
        return 0;
    const int64_t h = in->desc.dim[0], w = in->desc.dim[1];
    const uint64_t pixel = (uint64_t)in->desc.dim[2] * tutti_dtype_size(in->desc.dtype);
    out->desc = in->desc;
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++)
            memcpy((char *)out->data + (uint64_t)(y * w + x) * pixel,
                   (const char *)in->data + (uint64_t)(y * w + w - 1 - x) * pixel, pixel);
    return 1;
}

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    (void)host;
    flip *f = calloc(1, sizeof *f);
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "random_flip: no memory");
    f->p = tutti_param_f64(params, "p");
    *ret_self = f;
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
static const tutti_object object =
    TUTTI_OBJECT_INIT("random_flip", TUTTI_KIND_TRANSFORM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.random_flip", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
