/* plugin.c - mds: samples out of MosaicML Streaming shards, decoded to tensors. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "encoding.h"

#include "tutti/dataset.h"
#include "tutti/tutti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT, TARGET, OUTPUTS, PROBES = 16 };
enum { SLOT_EMPTY, SLOT_BUSY, SLOT_READY };

/* A column of the set as a column of our samples. */
typedef struct output {
    tutti_column column;
    mds_encoding encoding;
    int32_t from;  /* column of the set */
    int32_t label; /* 1: a class, given as i32 */
} output;

typedef struct mds {
    mds_set set;
    output outputs[OUTPUTS];
    uint32_t noutputs;
    uint32_t reserved;
    image_pool *pool;
    uint8_t *cache; /* decoded inputs, one after the other; NULL: off */
    uint8_t *slots; /* per sample: SLOT_* */
    uint64_t input_bytes;
} mds;

/* ---- one column of one sample ---- */

static tutti_status bad_sample(mds *m, int64_t index, const output *o, tutti_status status,
                               const char *why, tutti_error *err)
{
    const mds_shard *s = mds_shard_of(&m->set, index);
    return tutti_fail(err, status, "%s: sample %lld: column %s: %s", s->raw.path,
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
static tutti_status shape_of(mds *m, int64_t index, const output *o, const mds_field *f,
                             tutti_desc *ret, tutti_error *err)
{
    char why[IMAGE_WHY_SIZE] = "", have[80], want[80];
    const tutti_status s = mds_encoding_shape(&o->encoding, m->pool, f, ret, why);
    if (s)
        return bad_sample(m, index, o, s, why, err);
    if (o->column.desc.dtype == TUTTI_DTYPE_NONE || o->label || mds_fits(ret, &o->column.desc))
        return TUTTI_OK;
    (void)snprintf(why, sizeof why, "is %s, others are %s",
                   tutti_desc_text(ret, have, sizeof have),
                   tutti_desc_text(&o->column.desc, want, sizeof want));
    return bad_sample(m, index, o, TUTTI_E_SHAPE, why, err);
}

static tutti_status no_room(mds *m, int64_t index, const output *o, const tutti_desc *d,
                            uint64_t capacity, tutti_error *err)
{
    char why[IMAGE_WHY_SIZE], text[80];
    (void)snprintf(why, sizeof why, "%s does not fit into %llu bytes",
                   tutti_desc_text(d, text, sizeof text), (unsigned long long)capacity);
    return bad_sample(m, index, o, TUTTI_E_RANGE, why, err);
}

static tutti_status mds_decode(mds *m, int64_t index, const output *o, const mds_field *f,
                               tutti_tensor *to, uint64_t capacity, tutti_error *err)
{
    char why[IMAGE_WHY_SIZE] = "";
    tutti_status s = shape_of(m, index, o, f, &to->desc, err);
    if (s)
        return s;
    if (tutti_nbytes(&to->desc) > capacity)
        return no_room(m, index, o, &to->desc, capacity, err);
    s = mds_encoding_decode(&o->encoding, m->pool, f, &to->desc, to->data, why);
    return s ? bad_sample(m, index, o, s, why, err) : TUTTI_OK;
}

/* A class: any whole number, checked against the number of classes unless that is 0. */
static tutti_status read_label(mds *m, int64_t index, const output *o, const mds_field *f,
                               int64_t classes, int64_t *ret, tutti_error *err)
{
    const tutti_desc scalar = {{0}, 0, TUTTI_I64};
    const int64_t most = classes ? classes - 1 : 1 << 24;
    char why[IMAGE_WHY_SIZE] = "";
    tutti_status s = mds_encoding_decode(&o->encoding, m->pool, f, &scalar, ret, why);
    if (s == TUTTI_OK && (*ret < 0 || *ret > most)) {
        (void)snprintf(why, sizeof why, "label %lld, want 0 to %lld", (long long)*ret,
                       (long long)most);
        s = TUTTI_E_RANGE;
    }
    return s ? bad_sample(m, index, o, s, why, err) : TUTTI_OK;
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
            if ((s = read_label(m, index, o, f, o->column.classes, &label, err)))
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
    mds_field fields[MDS_MAX_COLUMNS];
    if (index < 0 || index >= m->set.samples || ncolumns != m->noutputs)
        return tutti_fail(err, TUTTI_E_RANGE, "mds: sample %lld, there are %lld",
                          (long long)index, (long long)m->set.samples);
    tutti_status s = mds_sample(&m->set, index, fields, err);
    if (s)
        return s;
    s = read_fields(m, index, fields, columns, capacity, err);
    mds_done(&m->set, index);
    return s;
}

/* ---- opening ---- */

/* The column that the run names, or else the first of a kind that suits and is not `taken`;
 * -1: none. */
static tutti_status mds_choose(mds *m, const char *name, int target, int32_t taken,
                               int32_t *ret, tutti_error *err)
{
    *ret = name ? mds_find(&m->set, name) : -1;
    if (name && *ret < 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "%s/index.json: there is no column %s",
                          m->set.folder, name);
    for (int32_t k = 0; !name && *ret < 0 && k < (int32_t)m->set.ncolumns; k++) {
        mds_encoding e;
        char why[IMAGE_WHY_SIZE];
        const int known = mds_encoding_parse(m->set.columns[k].encoding, &e, why) == TUTTI_OK;
        const int number = e.kind == MDS_NUMBER || e.kind == MDS_DIGITS;
        if (known && k != taken && (target ? number : !number && e.kind != MDS_TEXT))
            *ret = k;
    }
    return TUTTI_OK;
}

static tutti_status set_output(mds *m, output *o, const char *name, tutti_error *err)
{
    const mds_column *c = &m->set.columns[o->from];
    char why[IMAGE_WHY_SIZE];
    const tutti_status s = mds_encoding_parse(c->encoding, &o->encoding, why);
    if (s)
        return tutti_fail(err, s, "%s/index.json: column %s %s", m->set.folder, c->name, why);
    const int64_t bytes = mds_encoding_bytes(&o->encoding);
    if (bytes != c->size && (bytes >= 0 || c->size >= 0))
        return tutti_fail(
            err, TUTTI_E_FORMAT,
            "%s/index.json: column %s of encoding %s has the size %lld, want %lld",
            m->set.folder, c->name, c->encoding, (long long)c->size, (long long)bytes);
    (void)snprintf(o->column.name, sizeof o->column.name, "%s", name);
    return TUTTI_OK;
}

/* The shape of the column: that of every sample if the encoding fixes it; else that of a few
 * samples, where a dimension in which they differ is open. */
static tutti_status find_shape(mds *m, output *o, tutti_error *err)
{
    tutti_desc all = {0};
    for (int64_t k = 0; k < PROBES; k++) {
        mds_field fields[MDS_MAX_COLUMNS];
        const int64_t index = m->set.samples * k / PROBES;
        tutti_desc d;
        tutti_status s = mds_sample(&m->set, index, fields, err);
        if (s)
            return s;
        s = shape_of(m, index, o, &fields[o->from], &d, err);
        mds_done(&m->set, index);
        if (s)
            return s;
        if (k == 0)
            all = d;
        if (d.rank != all.rank || d.dtype != all.dtype)
            return bad_sample(m, index, o, TUTTI_E_SHAPE,
                              "has another type or rank than the first sample's", err);
        for (int32_t i = 0; i < d.rank; i++)
            all.dim[i] = all.dim[i] == d.dim[i] ? d.dim[i] : -1;
    }
    o->column.desc = all;
    return TUTTI_OK;
}

static tutti_status count_classes(mds *m, int64_t given, tutti_error *err)
{
    output *o = &m->outputs[TARGET];
    const tutti_desc scalar = {{0}, 0, TUTTI_I32};
    o->label = 1;
    o->column.desc = scalar;
    o->column.classes = given;
    for (int64_t k = 0; given == 0 && k < m->set.samples; k++) {
        mds_field fields[MDS_MAX_COLUMNS];
        int64_t label;
        tutti_status s = mds_sample(&m->set, k, fields, err);
        if (s)
            return s;
        s = read_label(m, k, o, &fields[o->from], 0, &label, err);
        mds_done(&m->set, k);
        if (s)
            return s;
        if (label >= o->column.classes)
            o->column.classes = label + 1;
    }
    return TUTTI_OK;
}

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

static tutti_status open_outputs(mds *m, const tutti_params *params, tutti_error *err)
{
    output *in = &m->outputs[INPUT], *out = &m->outputs[TARGET];
    const char *input = tutti_param_str(params, "input_column");
    const char *target = tutti_param_str(params, "target_column");
    tutti_status s = mds_choose(m, input, 0, -1, &in->from, err);
    if (s || (s = mds_choose(m, target, 1, in->from, &out->from, err)))
        return s;
    if (in->from < 0)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "%s/index.json: there is no column of images or arrays; name one as "
                          "input_column",
                          m->set.folder);
    m->noutputs = out->from < 0 ? 1 : 2;
    if ((s = set_output(m, in, "input", err)) || (s = find_shape(m, in, err)))
        return s;
    if (m->noutputs == 1)
        return TUTTI_OK;
    if ((s = set_output(m, out, "target", err)))
        return s;
    return out->encoding.integer ? count_classes(m, tutti_param_i64(params, "classes"), err)
                                 : find_shape(m, out, err);
}

static tutti_status mds_close_self(void *self, tutti_error *err)
{
    mds *m = self;
    (void)err;
    mds_close(&m->set);
    image_pool_free(m->pool);
    free(m->cache);
    free(m->slots);
    free(m);
    return TUTTI_OK;
}

static tutti_status mds_open_self(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    (void)host;
    mds *m = calloc(1, sizeof *m);
    image_pool *pool = image_pool_make();
    if (!m || !pool) {
        image_pool_free(pool);
        free(m);
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    }
    m->pool = pool;
    tutti_status s = mds_open(&m->set, tutti_param_str(params, "path"),
                              (int32_t)tutti_param_i64(params, "verify"), err);
    if (s || (s = open_outputs(m, params, err)) ||
        (s = make_cache(m, tutti_param_i64(params, "cache_mib"), err))) {
        (void)mds_close_self(m, NULL);
        return s;
    }
    *ret_self = m;
    return TUTTI_OK;
}

static const void *mds_query(void *self, const char *id)
{
    static const tutti_dataset_v1 table = {
        .struct_size = sizeof table, .info = mds_info, .read = mds_read};
    (void)self;
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
