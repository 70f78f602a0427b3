/* plugin.c - webdataset: images, arrays or texts and classes out of tar shards. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2 /* tutti.class_names/1, tutti.stored/1, tutti.sample_groups/1 */
#define TUTTI_MIN_MINOR 0 /* which older hosts do not ask for */
#include "index.h"

#include "../common/pictures.h"

#include "tutti/dataset.h"
#include "tutti/tutti.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct webdataset {
    wds_index index;
    pictures pictures;
    tutti_desc desc; /* of inputs that are no images; -1 for a dimension in which they differ */
    char key[256];   /* of a json input */
} webdataset;

/* A sample is named by its shard and by where its input lies. */
static tutti_status bad_input(const webdataset *w, const place *p, tutti_status status,
                              const char *why, tutti_error *err)
{
    return tutti_fail(err, status, "%s: input at byte %llu: %s",
                      w->index.shards.all[p->shard].path, (unsigned long long)p->at, why);
}

/* ---- the dataset ---- */

static tutti_status webdataset_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    const webdataset *w = self;
    (void)err;
    ret->samples = w->index.count;
    ret->ncolumns = w->index.classes ? 2 : 1;
    ret->columns[0] =
        (tutti_column){"input", w->index.kind == WDS_IMAGE ? w->pictures.desc : w->desc, 0};
    ret->columns[1] = (tutti_column){"target", {{0}, 0, TUTTI_I32}, w->index.classes};
    return TUTTI_OK;
}

/* The stored input, until shards_done of its shard. */
static tutti_status use_input(webdataset *w, const place *p, const uint8_t **ret_data,
                              tutti_error *err)
{
    const tutti_status s = shards_use(&w->index.shards, p->shard, err);
    *ret_data = s ? NULL : w->index.shards.all[p->shard].file.data + p->at;
    return s;
}

static tutti_status value_of(webdataset *w, const place *p, tutti_desc *ret, void *to,
                             uint64_t capacity, tutti_error *err)
{
    const uint8_t *data;
    char name[512];
    tutti_status s = use_input(w, p, &data, err);
    if (s)
        return s;
    (void)snprintf(name, sizeof name, "%s: input at byte %llu",
                   w->index.shards.all[p->shard].path, (unsigned long long)p->at);
    s = wds_value((wds_kind)w->index.kind, name, w->key, data, p->size, ret, to, capacity, err);
    shards_done(&w->index.shards, p->shard);
    return s;
}

static int value_fits(const tutti_desc *d, const tutti_desc *all)
{
    int same = d->rank == all->rank && d->dtype == all->dtype;
    for (int32_t k = 0; same && k < d->rank; k++)
        same = all->dim[k] < 0 || d->dim[k] == all->dim[k];
    return same;
}

static tutti_status read_value(webdataset *w, const place *p, tutti_tensor *to,
                               uint64_t capacity, tutti_error *err)
{
    char why[200], have[80], want[80];
    const tutti_status s = value_of(w, p, &to->desc, to->data, capacity, err);
    if (s || value_fits(&to->desc, &w->desc))
        return s;
    (void)snprintf(why, sizeof why, "is %s, others are %s",
                   tutti_desc_text(&to->desc, have, sizeof have),
                   tutti_desc_text(&w->desc, want, sizeof want));
    return bad_input(w, p, TUTTI_E_SHAPE, why, err);
}

static tutti_status read_picture(webdataset *w, const place *p, tutti_tensor *to,
                                 uint64_t capacity, tutti_error *err)
{
    char why[IMAGE_WHY_SIZE];
    const uint8_t *data;
    tutti_status s = use_input(w, p, &data, err);
    if (s)
        return s;
    s = pictures_read(&w->pictures, data, p->size, to, capacity, why);
    shards_done(&w->index.shards, p->shard);
    return s ? bad_input(w, p, s, why, err) : TUTTI_OK;
}

/* A dimension in which a few samples differ is open. */
static tutti_status probe_values(webdataset *w, tutti_error *err)
{
    for (int64_t k = 0; k < PICTURES_PROBES; k++) {
        const place *p = &w->index.places[w->index.count * k / PICTURES_PROBES];
        tutti_desc d;
        const tutti_status s = value_of(w, p, &d, NULL, 0, err);
        if (s)
            return s;
        if (k == 0)
            w->desc = d;
        if (d.rank != w->desc.rank || d.dtype != w->desc.dtype)
            return bad_input(w, p, TUTTI_E_SHAPE, "has another type or rank than the first",
                             err);
        for (int32_t r = 0; r < d.rank; r++)
            w->desc.dim[r] = w->desc.dim[r] == d.dim[r] ? d.dim[r] : -1;
    }
    return TUTTI_OK;
}

static tutti_status webdataset_read(void *self, int64_t index, tutti_tensor *columns,
                                    const uint64_t *capacity, uint32_t ncolumns,
                                    tutti_error *err)
{
    webdataset *w = self;
    if (index < 0 || index >= w->index.count || ncolumns != (w->index.classes ? 2u : 1u))
        return tutti_fail(err, TUTTI_E_RANGE, "webdataset: sample %lld, there are %lld",
                          (long long)index, (long long)w->index.count);
    const place *p = &w->index.places[index];
    if (ncolumns == 2) {
        columns[1].desc = (tutti_desc){{0}, 0, TUTTI_I32};
        if (capacity[1] < sizeof(int32_t))
            return bad_input(w, p, TUTTI_E_RANGE, "its class does not fit", err);
        *(int32_t *)columns[1].data = p->label;
    }
    return w->index.kind == WDS_IMAGE ? read_picture(w, p, &columns[0], capacity[0], err)
                                      : read_value(w, p, &columns[0], capacity[0], err);
}

static tutti_status webdataset_probe(webdataset *w, tutti_error *err)
{
    char why[IMAGE_WHY_SIZE];
    for (int64_t k = 0; k < PICTURES_PROBES; k++) {
        const place *p = &w->index.places[w->index.count * k / PICTURES_PROBES];
        const uint8_t *data;
        tutti_status s = use_input(w, p, &data, err);
        if (s)
            return s;
        s = pictures_probe(&w->pictures, data, p->size, why);
        shards_done(&w->index.shards, p->shard);
        if (s)
            return bad_input(w, p, s, why, err);
    }
    return TUTTI_OK;
}

static tutti_status webdataset_close(void *self, tutti_error *err)
{
    webdataset *w = self;
    (void)err;
    wds_close(&w->index);
    pictures_close(&w->pictures);
    free(w);
    return TUTTI_OK;
}

static tutti_status webdataset_open(const tutti_host *host, const tutti_params *params,
                                    void **ret_self, tutti_error *err)
{
    const tutti_log_v1 *log = host->query(host->ctx, TUTTI_LOG_V1);
    webdataset *w = calloc(1, sizeof *w);
    if (!w)
        return tutti_fail(err, TUTTI_E_NOMEM, "webdataset: no memory");
    (void)snprintf(w->key, sizeof w->key, "%s", tutti_param_str(params, "input_key"));
    tutti_status s = pictures_open(&w->pictures, params, err);
    if (s == TUTTI_OK)
        s = wds_open(&w->index, params, log, err);
    if (s == TUTTI_OK)
        s = w->index.kind == WDS_IMAGE ? webdataset_probe(w, err) : probe_values(w, err);
    if (s)
        (void)webdataset_close(w, NULL);
    else
        *ret_self = w;
    return s;
}

static const char *webdataset_class(void *self, const char *column, int64_t index)
{
    const wds_index *x = &((const webdataset *)self)->index;
    return !column || strcmp(column, "target") == 0 ? label_names_text(&x->names, index) : NULL;
}

static tutti_status webdataset_file(void *self, int64_t index, uint32_t column, void *to,
                                    uint64_t capacity, uint64_t *ret_size, tutti_error *err)
{
    webdataset *w = self;
    char why[IMAGE_WHY_SIZE];
    const uint8_t *data;
    *ret_size = 0;
    if (index < 0 || index >= w->index.count || column != 0 || w->index.kind != WDS_IMAGE)
        return TUTTI_OK;
    const place *p = &w->index.places[index];
    tutti_status s = use_input(w, p, &data, err);
    if (s)
        return s;
    s = pictures_copy(&w->pictures, data, p->size, to, capacity, ret_size, why);
    shards_done(&w->index.shards, p->shard);
    return s ? bad_input(w, p, s, why, err) : TUTTI_OK;
}

static int64_t webdataset_shards_count(void *self)
{
    return ((const webdataset *)self)->index.shards.count;
}

static int64_t webdataset_shards_begin(void *self, int64_t number)
{
    return ((const webdataset *)self)->index.shards.all[number].first;
}

static const void *webdataset_query(void *self, const char *id)
{
    static const tutti_class_names_v1 names = {.struct_size = sizeof names,
                                               .name = webdataset_class};
    static const tutti_stored_v1 stored = {.struct_size = sizeof stored,
                                           .file = webdataset_file};
    static const tutti_sample_groups_v1 groups = {.struct_size = sizeof groups,
                                                  .count = webdataset_shards_count,
                                                  .first = webdataset_shards_begin};
    static const tutti_dataset_v1 table = {
        .struct_size = sizeof table, .info = webdataset_info, .read = webdataset_read};
    if (strcmp(id, TUTTI_CLASS_NAMES_V1) == 0)
        return ((const webdataset *)self)->index.names.count ? &names : NULL;
    if (strcmp(id, TUTTI_STORED_V1) == 0)
        return &stored;
    if (strcmp(id, TUTTI_SAMPLE_GROUPS_V1) == 0)
        return &groups;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = webdataset_open,
                                  .close = webdataset_close,
                                  .query = webdataset_query};
static const tutti_object object = TUTTI_OBJECT_INIT("webdataset", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.webdataset", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
