/* plugin.c - mds: samples out of MosaicML Streaming shards, decoded to tensors. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset.h"

#include "tutti/tutti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one column of one sample ---- */

tutti_status mds_bad_sample(mds *m, int64_t index, const output *o, tutti_status status,
                            const char *why, tutti_error *err)
{
    const mds_shard *s = mds_shard_of(&m->set, index);
    return tutti_fail(err, status, "%s: sample %lld: column %s: %s", mds_shard_path(s),
                      (long long)(index - s->first), m->set.columns[o->from].name, why);
}

static int mds_fits(const tutti_desc *d, const tutti_desc *all)
{
    int same = d->rank == all->rank && d->dtype == all->dtype;
    for (int32_t k = 0; same && k < d->rank; k++)
        same = all->dim[k] < 0 || d->dim[k] == all->dim[k];
    return same;
}

/* The shape of a field, which has to fit the column's. */
tutti_status mds_shape_of(mds *m, int64_t index, const output *o, const mds_field *f,
                          tutti_desc *ret, tutti_error *err)
{
    char why[IMAGE_WHY_SIZE] = "", have[80], want[80];
    const tutti_status s = mds_encoding_shape(&o->encoding, m->pool, f, ret, why);
    if (s)
        return mds_bad_sample(m, index, o, s, why, err);
    if (o->column.desc.dtype == TUTTI_DTYPE_NONE || o->label || mds_fits(ret, &o->column.desc))
        return TUTTI_OK;
    (void)snprintf(why, sizeof why, "is %s, others are %s",
                   tutti_desc_text(ret, have, sizeof have),
                   tutti_desc_text(&o->column.desc, want, sizeof want));
    return mds_bad_sample(m, index, o, TUTTI_E_SHAPE, why, err);
}

static tutti_status no_room(mds *m, int64_t index, const output *o, const tutti_desc *d,
                            uint64_t capacity, tutti_error *err)
{
    char why[IMAGE_WHY_SIZE], text[80];
    (void)snprintf(why, sizeof why, "%s does not fit into %llu bytes",
                   tutti_desc_text(d, text, sizeof text), (unsigned long long)capacity);
    return mds_bad_sample(m, index, o, TUTTI_E_RANGE, why, err);
}

static tutti_status mds_decode(mds *m, int64_t index, const output *o, const mds_field *f,
                               tutti_tensor *to, uint64_t capacity, tutti_error *err)
{
    char why[IMAGE_WHY_SIZE] = "";
    tutti_status s = mds_shape_of(m, index, o, f, &to->desc, err);
    if (s)
        return s;
    if (tutti_nbytes(&to->desc) > capacity)
        return no_room(m, index, o, &to->desc, capacity, err);
    s = mds_encoding_decode(&o->encoding, m->pool, f, &to->desc, to->data, why);
    return s ? mds_bad_sample(m, index, o, s, why, err) : TUTTI_OK;
}

tutti_status mds_read_label(mds *m, int64_t index, const output *o, const mds_field *f,
                            int64_t classes, int64_t *ret, tutti_error *err)
{
    const tutti_desc scalar = {{0}, 0, TUTTI_I64};
    const int64_t most = classes ? classes - 1 : 1 << 24;
    char why[IMAGE_WHY_SIZE] = "";
    if (o->encoding.kind == MDS_TEXT) {
        *ret = label_names_class(&m->names, f->data, f->size);
        if (*ret >= 0)
            return TUTTI_OK;
        (void)snprintf(why, sizeof why, "there is no label \"%.*s\"",
                       (int)(f->size < 60 ? f->size : 60), (const char *)f->data);
        return mds_bad_sample(m, index, o, TUTTI_E_RANGE, why, err);
    }
    tutti_status s = mds_encoding_decode(&o->encoding, m->pool, f, &scalar, ret, why);
    if (s == TUTTI_OK && (*ret < 0 || *ret > most)) {
        (void)snprintf(why, sizeof why, "label %lld, want 0 to %lld", (long long)*ret,
                       (long long)most);
        s = TUTTI_E_RANGE;
    }
    return s ? mds_bad_sample(m, index, o, s, why, err) : TUTTI_OK;
}

/* Decodes once; whoever comes while another worker fills the slot decodes for itself. */
static tutti_status read_cached(mds *m, int64_t index, const mds_field *f, tutti_tensor *to,
                                uint64_t capacity, tutti_error *err)
{
    const output *o = &m->outputs[INPUT];
    uint8_t *kept = m->cache + (uint64_t)index * m->input_bytes;
    if (__atomic_load_n(&m->slots[index], __ATOMIC_ACQUIRE) == SLOT_READY) {
        to->desc = o->column.desc;
        if (m->input_bytes > capacity)
            return no_room(m, index, o, &to->desc, capacity, err);
        memcpy(to->data, kept, m->input_bytes);
        return TUTTI_OK;
    }
    const tutti_status s = mds_decode(m, index, o, f, to, capacity, err);
    uint8_t empty = SLOT_EMPTY;
    if (s == TUTTI_OK && __atomic_compare_exchange_n(&m->slots[index], &empty, SLOT_BUSY, 0,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        memcpy(kept, to->data, m->input_bytes);
        __atomic_store_n(&m->slots[index], SLOT_READY, __ATOMIC_RELEASE);
    }
    return s;
}

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

/* Input and target of a sample of tokens. */
static tutti_status read_tokens(mds *m, int64_t index, const mds_field *fields,
                                tutti_tensor *columns, const uint64_t *capacity,
                                tutti_error *err)
{
    for (uint32_t k = 0; k < OUTPUTS; k++) {
        const output *o = &m->outputs[k];
        char why[IMAGE_WHY_SIZE] = "";
        columns[k].desc = o->column.desc;
        if (capacity[k] < tutti_nbytes(&o->column.desc))
            return no_room(m, index, o, &o->column.desc, capacity[k], err);
        const tutti_status s =
            mds_tokens_read(&m->tokens, &fields[m->tokens.from], k, columns[k].data, why);
        if (s)
            return mds_bad_sample(m, index, o, s, why, err);
    }
    return TUTTI_OK;
}

static tutti_status read_fields(mds *m, int64_t index, const mds_field *fields,
                                tutti_tensor *columns, const uint64_t *capacity,
                                tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; s == TUTTI_OK && k < m->noutputs; k++) {
        const output *o = &m->outputs[k];
        const mds_field *f = &fields[o->from];
        if (o->label) {
            int64_t label;
            if ((s = mds_read_label(m, index, o, f, o->column.classes, &label, err)))
                return s;
            columns[k].desc = o->column.desc;
            if (capacity[k] < sizeof(int32_t))
                return no_room(m, index, o, &columns[k].desc, capacity[k], err);
            *(int32_t *)columns[k].data = (int32_t)label;
        } else if (k == INPUT && m->cache)
            s = read_cached(m, index, f, &columns[k], capacity[k], err);
        else
            s = mds_decode(m, index, o, f, &columns[k], capacity[k], err);
    }
    return s;
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
    s = m->tokens.from >= 0 ? read_tokens(m, index, row.fields, columns, capacity, err)
                            : read_fields(m, index, row.fields, columns, capacity, err);
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
