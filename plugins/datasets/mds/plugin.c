/* plugin.c - mds: samples out of MosaicML Streaming shards, decoded to tensors. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset.h"

#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the dataset ---- */

static tutti_status mds_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    const mds *m = self;
    (void)err;
    ret->samples = m->set.samples;
    ret->ncolumns = m->noutputs;
    for (uint32_t k = 0; k < m->noutputs; k++)
        ret->columns[k] = m->outputs[k].column;
    return TUTTI_OK;
}

static tutti_status mds_read(void *self, int64_t index, tutti_tensor *columns,
                             const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    mds *m = self;
    mds_row row;
    if (index < 0 || index >= m->set.samples || ncolumns != m->noutputs)
        return tutti_fail(err, TUTTI_E_RANGE, "mds: sample %lld, there are %lld",
                          (long long)index, (long long)m->set.samples);
    tutti_status s = mds_sample(&m->set, index, &row, err);
    if (s)
        return s;
    s = mds_read_columns(m, index, row.fields, columns, capacity, err);
    mds_done(&m->set, index, &row);
    return s;
}

/* ---- opening ---- */

static tutti_status make_cache(mds *m, int64_t limit_mib, tutti_error *err)
{
    const tutti_desc *d = &m->outputs[INPUT].column.desc;
    for (int32_t k = 0; k < d->rank; k++)
        if (d->dim[k] < 0)
            return TUTTI_OK;
    m->input_bytes = tutti_nbytes(d);
    const int image = m->outputs[INPUT].encoding.kind >= MDS_IMAGE;
    if (!image || m->input_bytes > ((uint64_t)limit_mib << 20) / (uint64_t)m->set.samples)
        return TUTTI_OK;
    m->cache = malloc(m->input_bytes * (uint64_t)m->set.samples);
    m->slots = calloc((size_t)m->set.samples, 1);
    if (!m->cache || !m->slots)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory for a cache of decoded images");
    return TUTTI_OK;
}

static tutti_status mds_close_self(void *self, tutti_error *err)
{
    mds *m = self;
    (void)err;
    mds_close_order(m);
    mds_close(&m->set);
    label_names_free(&m->names);
    image_pool_free(m->pool);
    free(m->cache);
    free(m->slots);
    free(m);
    return TUTTI_OK;
}

/* Bytes for inflated shards: as the run says, or half of the machine's memory. */
static uint64_t inflate_limit(int64_t given_mib)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return given_mib ? (uint64_t)given_mib << 20
                     : (uint64_t)(pages > 0 ? pages : 0) * (uint64_t)(size > 0 ? size : 0) / 2;
}

static tutti_status mds_open_self(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    mds *m = calloc(1, sizeof *m);
    image_pool *pool = image_pool_make();
    if (!m || !pool) {
        image_pool_free(pool);
        free(m);
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    }
    m->pool = pool;
    m->log = host->query(host->ctx, TUTTI_LOG_V1);
    tutti_status s = mds_open_set(m, params, err);
    m->set.most_inflated = inflate_limit(tutti_param_i64(params, "inflated_mib"));
    if (s || (s = mds_open_order(m, params, err)) || (s = mds_open_outputs(m, params, err)) ||
        (s = make_cache(m, tutti_param_i64(params, "cache_mib"), err))) {
        (void)mds_close_self(m, NULL);
        return s;
    }
    *ret_self = m;
    return TUTTI_OK;
}

/* What class `index` is called. */
static const char *mds_class(void *self, const char *column, int64_t index)
{
    const mds *m = self;
    return column && strcmp(column, m->outputs[TARGET].column.name) != 0
               ? NULL
               : label_names_text(&m->names, index);
}

/* A picture as the file that the set holds. */
static tutti_status mds_picture_file(void *self, int64_t index, uint32_t column, void *to,
                                     uint64_t capacity, uint64_t *ret_size, tutti_error *err)
{
    mds *m = self;
    mds_row row;
    *ret_size = 0;
    if (index < 0 || index >= m->set.samples || column >= m->noutputs || m->tokens.from >= 0 ||
        m->outputs[column].encoding.kind != MDS_IMAGE)
        return TUTTI_OK;
    const tutti_status s = mds_sample(&m->set, index, &row, err);
    if (s)
        return s;
    const mds_field *f = &row.fields[m->outputs[column].from];
    *ret_size = f->size;
    if (f->size <= capacity)
        memcpy(to, f->data, f->size);
    mds_done(&m->set, index, &row);
    return TUTTI_OK;
}

static const void *mds_query(void *self, const char *id)
{
    static const tutti_dataset_v1 table = {
        .struct_size = sizeof table, .info = mds_info, .read = mds_read};
    static const tutti_class_names_v1 names = {.struct_size = sizeof names, .name = mds_class};
    static const tutti_stored_v1 stored = {.struct_size = sizeof stored,
                                           .file = mds_picture_file};
    if (strcmp(id, TUTTI_STORED_V1) == 0)
        return &stored;
    if (strcmp(id, TUTTI_SAMPLE_ORDER_V1) == 0)
        return mds_order_table(self);
    if (strcmp(id, TUTTI_SAMPLE_GROUPS_V1) == 0)
        return mds_groups_table();
    if (strcmp(id, TUTTI_CLASS_NAMES_V1) == 0)
        return ((const mds *)self)->names.count ? &names : NULL;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = mds_open_self,
                                  .close = mds_close_self,
                                  .query = mds_query};
static const tutti_object object = TUTTI_OBJECT_INIT("mds", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.mds", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
