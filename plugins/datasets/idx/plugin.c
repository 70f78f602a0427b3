/* plugin.c - idx: MNIST's format. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include "tutti/dataset.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

typedef struct idx {
    idx_file images;
    idx_file labels; /* path NULL: none */
    tutti_dataset_info info;
} idx;

/* ---- labels ---- */

static int idx_whole(const idx *d)
{
    return d->labels.sample.dtype != TUTTI_F32 && d->labels.sample.dtype != TUTTI_F64;
}

static int32_t label_at(const idx *d, int64_t index)
{
    const unsigned char *at = d->labels.data + (uint64_t)index * d->labels.bytes;
    int16_t i16;
    int32_t i32;
    switch (d->labels.sample.dtype) {
    case TUTTI_U8:
        return *at;
    case TUTTI_I8:
        return *(const signed char *)at;
    case TUTTI_I16:
        memcpy(&i16, at, sizeof i16);
        return i16;
    default:
        memcpy(&i32, at, sizeof i32);
        return i32;
    }
}

static tutti_status check_labels(idx *d, int64_t classes, tutti_error *err)
{
    tutti_column *c = &d->info.columns[1];
    strcpy(c->name, "target");
    if (d->labels.samples != d->images.samples)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: has %lld labels, %s has %lld samples",
                          d->labels.path, (long long)d->labels.samples, d->images.path,
                          (long long)d->images.samples);
    if (d->labels.sample.rank != 0)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: has %d dimensions, want 1 for labels",
                          d->labels.path, d->labels.sample.rank + 1);
    c->desc = d->labels.sample;
    if (!idx_whole(d))
        return TUTTI_OK;
    c->desc.dtype = TUTTI_I32;
    c->classes = classes;
    const int64_t most = classes ? classes - 1 : 1 << 24;
    for (int64_t k = 0; k < d->labels.samples; k++) {
        const int32_t label = label_at(d, k);
        if (label < 0 || label > most)
            return tutti_fail(err, TUTTI_E_RANGE, "%s: sample %lld: label %d, want 0 to %lld",
                              d->labels.path, (long long)k, label, (long long)most);
        if (label >= c->classes)
            c->classes = label + 1;
    }
    return TUTTI_OK;
}

/* ---- the dataset ---- */

static tutti_status idx_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    const idx *d = self;
    (void)err;
    ret->samples = d->info.samples;
    ret->ncolumns = d->info.ncolumns;
    memcpy(ret->columns, d->info.columns, sizeof ret->columns);
    return TUTTI_OK;
}

static tutti_status idx_read(void *self, int64_t index, tutti_tensor *columns,
                             const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    const idx *d = self;
    if (index < 0 || index >= d->info.samples || ncolumns != d->info.ncolumns)
        return tutti_fail(err, TUTTI_E_RANGE, "idx: sample %lld, there are %lld",
                          (long long)index, (long long)d->info.samples);
    for (uint32_t k = 0; k < ncolumns; k++) {
        const tutti_column *c = &d->info.columns[k];
        const idx_file *f = k ? &d->labels : &d->images;
        columns[k].desc = c->desc;
        if (capacity[k] < tutti_nbytes(&c->desc))
            return tutti_fail(err, TUTTI_E_RANGE,
                              "%s: sample %lld does not fit into %llu bytes", f->path,
                              (long long)index, (unsigned long long)capacity[k]);
        if (c->classes)
            *(int32_t *)columns[k].data = label_at(d, index);
        else
            memcpy(columns[k].data, f->data + (uint64_t)index * f->bytes, f->bytes);
    }
    return TUTTI_OK;
}

static tutti_status idx_close_self(void *self, tutti_error *err)
{
    idx *d = self;
    (void)err;
    idx_close(&d->images);
    idx_close(&d->labels);
    free(d);
    return TUTTI_OK;
}

static tutti_status idx_fill(idx *d, const tutti_params *params, tutti_error *err)
{
    const char *labels = tutti_param_str(params, "labels");
    tutti_status s = idx_open(&d->images, tutti_param_str(params, "images"), err);
    if (s)
        return s;
    tutti_column *in = &d->info.columns[0];
    strcpy(in->name, "input");
    in->desc = d->images.sample;
    if (in->desc.rank == 2)
        in->desc.dim[in->desc.rank++] = 1;
    d->info.samples = d->images.samples;
    d->info.ncolumns = labels ? 2 : 1;
    if (!labels)
        return TUTTI_OK;
    s = idx_open(&d->labels, labels, err);
    return s ? s : check_labels(d, tutti_param_i64(params, "classes"), err);
}

static tutti_status idx_open_self(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    (void)host;
    idx *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "idx: no memory");
    const tutti_status s = idx_fill(d, params, err);
    if (s)
        (void)idx_close_self(d, NULL);
    else
        *ret_self = d;
    return s;
}

static const void *idx_query(void *self, const char *id)
{
    static const tutti_dataset_v1 table = {
        .struct_size = sizeof table, .info = idx_info, .read = idx_read};
    (void)self;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = idx_open_self,
                                  .close = idx_close_self,
                                  .query = idx_query};
static const tutti_object object = TUTTI_OBJECT_INIT("idx", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.idx", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
