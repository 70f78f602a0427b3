/* transform_plugin.h - what the image transforms share: images, sizes, and the shell of a plugin. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSFORM_PLUGIN_H
#define TRANSFORM_PLUGIN_H

#include "tutti/device_view.h"
#include "tutti/kernel.h"
#include "tutti/rng.h"
#include "tutti/transform.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

/* Images are u8 or f32 columns (H, W, C); others stay as they are. */
static inline int is_image(const tutti_desc *d)
{
    return d->rank == 3 && (d->dtype == TUTTI_U8 || d->dtype == TUTTI_F32);
}

static inline uint64_t pixel_bytes(const tutti_desc *d)
{
    return (uint64_t)d->dim[2] * tutti_dtype_size(d->dtype);
}

/* A map is a column (H, W) beside an image (H, W, C), such as the class of each pixel: what moves pixels of the one
 * moves those of the other, or refuses. */
static inline int is_map_of(const tutti_desc *d, const tutti_desc *image)
{
    return d->rank + 1 == image->rank &&
           memcmp(d->dim, image->dim, d->rank * sizeof *d->dim) == 0;
}

/* For infer of what moves the pixels of images alone. */
static inline tutti_status refuse_maps(const char *name, const tutti_column *columns,
                                       uint32_t ncolumns, tutti_error *err)
{
    for (uint32_t k = 0; k < ncolumns; k++)
        for (uint32_t j = 0; j < ncolumns; j++)
            if (is_image(&columns[j].desc) && is_map_of(&columns[k].desc, &columns[j].desc))
                return tutti_fail(
                    err, TUTTI_E_UNSUPPORTED,
                    "%s moves the pixels of %s and would leave %s, which has a number "
                    "for each of them, where it is; random_flip moves both",
                    name, columns[j].name, columns[k].name);
    return TUTTI_OK;
}

static inline uint32_t sample_purpose(const char *name)
{
    return TUTTI_RNG_TRANSFORM ^ (uint32_t)tutti_hash(name);
}

/* The draws of a sample for the transform called `name`. */
static inline tutti_stream sample_stream(const tutti_sample *sample, const char *name)
{
    return tutti_stream_at(sample->seed, sample_purpose(name), sample->epoch, sample->index);
}

static inline double stream_between(tutti_stream *s, double low, double high)
{
    return low + (high - low) * tutti_stream_uniform(s);
}

/* The setting "size", [S] or [H, W]: dim[0] and dim[1], the second 0 for [S]. */
static inline void size_setting(const tutti_params *params, int64_t dim[2])
{
    const tutti_param *p = tutti_param_find(params, "size");
    dim[0] = p->items[0]->i;
    dim[1] = p->count > 1 ? p->items[1]->i : 0;
}

/* ---- batches on a device ---- */

/* A kernel of this plugin's manifest, where the run's device has it. */
typedef struct batch_kernel {
    const tutti_kernel_v1 *table; /* NULL: it has not */
    uint32_t number;
} batch_kernel;

static inline batch_kernel batch_kernel_find(const tutti_host *host, const char *name)
{
    batch_kernel k = {(const tutti_kernel_v1 *)host->query(host->ctx, TUTTI_KERNEL_V1), 0};
    if (k.table && k.table->find(k.table->ctx, name, &k.number, NULL) != TUTTI_OK)
        k.table = NULL;
    return k;
}

/* Columns of a batch whose samples are images. */
static inline int is_image_batch(const tutti_desc *d)
{
    return d->rank == 4 && (d->dtype == TUTTI_U8 || d->dtype == TUTTI_F32);
}

/* The end of an apply_batch: 1 with the kernel launched, or at once where there are no data; E_UNSUPPORTED
 * without the kernel. */
static inline int32_t batch_launch(const batch_kernel *k, const char *name, const void *data,
                                   void *const *args, uint32_t nargs, tutti_error *err)
{
    if (!k->table)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s has no kernel for this device", name);
    const tutti_status s =
        data ? k->table->launch(k->table->ctx, k->number, args, nargs, err) : TUTTI_OK;
    return s ? s : 1;
}

/* Memory of a transform's own there, for its kernel; zeroed before the first use. */
typedef struct batch_memory {
    const tutti_device_view_v1 *view; /* once there is a batch */
    void *data;
    uint64_t bytes;
} batch_memory;

/* At least `bytes` of it; what was there is lost. */
static inline tutti_status batch_memory_take(batch_memory *m, const tutti_host *host,
                                             const char *name, uint64_t bytes, tutti_error *err)
{
    if (!m->view)
        m->view = (const tutti_device_view_v1 *)host->query(host->ctx, TUTTI_DEVICE_VIEW_V1);
    if (!m->view)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s has no memory on this device", name);
    if (bytes <= m->bytes)
        return TUTTI_OK;
    m->view->give(m->view->ctx, m->data);
    m->data = NULL;
    m->bytes = 0;
    const tutti_status s = m->view->take(m->view->ctx, bytes, &m->data, err);
    m->bytes = s ? 0 : bytes;
    return s;
}

static inline void batch_memory_give(batch_memory *m)
{
    if (m->view)
        m->view->give(m->view->ctx, m->data);
}

/* Defines the plugin of transform `name_` out of its open, infer, apply and apply_batch or NULL; an
 * instance is one calloc. */
#define TRANSFORM_PLUGIN(name_, open_, infer_, apply_, batch_)                                 \
    static tutti_status transform_close(void *self, tutti_error *err)                          \
    {                                                                                          \
        (void)err;                                                                             \
        free(self);                                                                            \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static const void *transform_query(void *self, const char *id)                             \
    {                                                                                          \
        static const tutti_transform_v1 table = {.struct_size = sizeof table,                  \
                                                 .infer = infer_,                              \
                                                 .apply = apply_,                              \
                                                 .apply_batch = batch_};                       \
        (void)self;                                                                            \
        return strcmp(id, TUTTI_TRANSFORM_V1) == 0 ? &table : NULL;                            \
    }                                                                                          \
    TUTTI_PLUGIN_OF_ONE("org.tutti." #name_, "1.0.0", #name_, TUTTI_KIND_TRANSFORM,            \
                        .open = open_, .close = transform_close, .query = transform_query)

#endif
