/* plugin.c - mds: samples out of MosaicML Streaming shards, decoded to tensors. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "shard.h"

#include "tutti/dataset.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

#include <turbojpeg.h>

/* What becomes of a stored column. */
enum { AS_IMAGE, AS_NUMBER };

typedef struct output {
    tutti_column column;
    int32_t from; /* column of the set */
    int32_t kind; /* AS_* */
} output;

typedef struct mds {
    mds_set set;
    output outputs[2];
    uint8_t *cache; /* decoded images, one after the other; NULL: off */
    uint8_t *have;  /* per sample: the cache holds it */
    uint64_t image_bytes;
} mds;

static _Thread_local tjhandle decoder; /* one a thread; freed with the process */

/* ---- numbers ---- */

/* encoding, bytes, dtype it is read as */
static int32_t number_size(const char *encoding)
{
    static const struct {
        const char *name;
        int32_t bytes;
    } table[] = {{"int", 8},   {"int8", 1},   {"int16", 2},  {"int32", 4},  {"int64", 8},
                 {"uint8", 1}, {"uint16", 2}, {"uint32", 4}, {"uint64", 8}, {"str_int", 0}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(table[k].name, encoding) == 0)
            return table[k].bytes;
    return -1;
}

static int64_t read_number(const char *encoding, const mds_field *f)
{
    uint64_t v = 0;
    if (strcmp(encoding, "str_int") == 0) {
        char text[32];
        (void)snprintf(text, sizeof text, "%.*s", (int)(f->size < 31 ? f->size : 31),
                       (const char *)f->data);
        return strtoll(text, NULL, 10);
    }
    for (uint64_t k = 0; k < f->size && k < 8; k++)
        v |= (uint64_t)f->data[k] << (8 * k);
    if (*encoding == 'i' && f->size && f->size < 8 && (v >> (8 * f->size - 1) & 1))
        v |= ~UINT64_C(0) << (8 * f->size); /* sign */
    return (int64_t)v;
}

/* ---- images ---- */

static tutti_status bad_sample(mds *m, int64_t index, const char *column, const char *why,
                               tutti_error *err)
{
    const mds_shard *s = mds_shard_of(&m->set, index);
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: sample %lld: column %s: %s", s->raw_path,
                      (long long)(index - s->first), column, why);
}

static tutti_status image_shape(const mds_field *f, int *ret_width, int *ret_height,
                                const char **ret_why)
{
    int sampling, colors;
    if (!decoder)
        decoder = tjInitDecompress();
    if (decoder && tjDecompressHeader3(decoder, f->data, (unsigned long)f->size, ret_width,
                                       ret_height, &sampling, &colors) == 0)
        return TUTTI_OK;
    *ret_why = decoder ? tjGetErrorStr2(decoder) : "no memory for a decoder";
    return TUTTI_E_FORMAT;
}

static tutti_status decode(mds *m, int64_t index, const mds_field *f, tutti_tensor *to,
                           uint64_t capacity, tutti_error *err)
{
    const char *column = m->set.columns[m->outputs[0].from].name, *why = "";
    int width, height;
    if (image_shape(f, &width, &height, &why))
        return bad_sample(m, index, column, why, err);
    to->desc = (tutti_desc){{height, width, 3}, 3, TUTTI_U8};
    if (tutti_nbytes(&to->desc) > capacity)
        return tutti_fail(err, TUTTI_E_RANGE, "mds: an image of %d x %d does not fit", width,
                          height);
    if (tjDecompress2(decoder, f->data, (unsigned long)f->size, to->data, width, 0, height,
                      TJPF_RGB, 0) != 0)
        return bad_sample(m, index, column, tjGetErrorStr2(decoder), err);
    return TUTTI_OK;
}

static tutti_status read_image(mds *m, int64_t index, const mds_field *f, tutti_tensor *to,
                               uint64_t capacity, tutti_error *err)
{
    if (!m->cache)
        return decode(m, index, f, to, capacity, err);
    uint8_t *kept = m->cache + (uint64_t)index * m->image_bytes;
    if (__atomic_load_n(&m->have[index], __ATOMIC_ACQUIRE)) {
        to->desc = m->outputs[0].column.desc;
        memcpy(to->data, kept, m->image_bytes);
        return TUTTI_OK;
    }
    const tutti_status s = decode(m, index, f, to, capacity, err);
    /* two workers may write the same bytes here; both are right */
    if (s == TUTTI_OK && tutti_nbytes(&to->desc) == m->image_bytes) {
        memcpy(kept, to->data, m->image_bytes);
        __atomic_store_n(&m->have[index], 1, __ATOMIC_RELEASE);
    }
    return s;
}

/* ---- the dataset ---- */

static tutti_status info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    const mds *m = self;
    (void)err;
    ret->samples = m->set.samples;
    ret->ncolumns = 2;
    ret->columns[0] = m->outputs[0].column;
    ret->columns[1] = m->outputs[1].column;
    return TUTTI_OK;
}

static tutti_status read(void *self, int64_t index, tutti_tensor *columns,
                         const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    mds *m = self;
    mds_field fields[MDS_MAX_COLUMNS];
    if (index < 0 || index >= m->set.samples || ncolumns != 2)
        return tutti_fail(err, TUTTI_E_RANGE, "mds: sample %lld, there are %lld",
                          (long long)index, (long long)m->set.samples);
    tutti_status s = mds_sample(&m->set, index, fields, err);
    if (s ||
        (s = read_image(m, index, &fields[m->outputs[0].from], &columns[0], capacity[0], err)))
        return s;
    const mds_column *stored = &m->set.columns[m->outputs[1].from];
    const int64_t label = read_number(stored->encoding, &fields[m->outputs[1].from]);
    const int64_t classes = m->outputs[1].column.classes;
    if (label < 0 || label >= classes) {
        char why[96];
        (void)snprintf(why, sizeof why, "label %lld, want 0 to %lld", (long long)label,
                       (long long)classes - 1);
        return bad_sample(m, index, stored->name, why, err);
    }
    if (capacity[1] < sizeof(int32_t))
        return tutti_fail(err, TUTTI_E_RANGE, "mds: too little room for a label");
    *(int32_t *)columns[1].data = (int32_t)label;
    columns[1].desc = m->outputs[1].column.desc;
    return TUTTI_OK;
}

/* The column that the run names, or else the first that suits. */
static tutti_status choose(mds *m, const char *name, int image, int32_t *ret, tutti_error *err)
{
    const int32_t named = name ? mds_find(&m->set, name) : -1;
    if (name && named < 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "%s/index.json: there is no column %s",
                          m->set.folder, name);
    for (int32_t k = 0; k < (int32_t)m->set.ncolumns; k++) {
        const char *encoding = m->set.columns[k].encoding;
        const int suits = image ? strcmp(encoding, "jpeg") == 0 : number_size(encoding) >= 0;
        if (suits && (!name || k == named)) {
            *ret = k;
            return TUTTI_OK;
        }
    }
    return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s/index.json: %s%s is no %s column",
                      m->set.folder, name ? "column " : "none", name ? name : "",
                      image ? "jpeg" : "integer");
}

/* The shape of all images: that of the first, or open when one of a few others differs. */
static tutti_status find_shape(mds *m, tutti_error *err)
{
    tutti_desc *d = &m->outputs[0].column.desc;
    *d = (tutti_desc){{0, 0, 3}, 3, TUTTI_U8};
    for (int64_t k = 0; k < 16; k++) {
        mds_field fields[MDS_MAX_COLUMNS];
        const int64_t index = m->set.samples * k / 16;
        int width, height;
        const char *why = "";
        const tutti_status s = mds_sample(&m->set, index, fields, err);
        if (s)
            return s;
        if (image_shape(&fields[m->outputs[0].from], &width, &height, &why))
            return bad_sample(m, index, m->set.columns[m->outputs[0].from].name, why, err);
        if (k == 0) {
            d->dim[0] = height;
            d->dim[1] = width;
        } else if (d->dim[0] != height || d->dim[1] != width)
            d->dim[0] = d->dim[1] = -1;
    }
    return TUTTI_OK;
}

static tutti_status count_classes(mds *m, int64_t given, tutti_error *err)
{
    tutti_column *c = &m->outputs[1].column;
    c->classes = given;
    for (int64_t k = 0; given == 0 && k < m->set.samples; k++) {
        mds_field fields[MDS_MAX_COLUMNS];
        const tutti_status s = mds_sample(&m->set, k, fields, err);
        if (s)
            return s;
        const int64_t label = read_number(m->set.columns[m->outputs[1].from].encoding,
                                          &fields[m->outputs[1].from]);
        if (label < 0 || label > 1 << 24)
            return bad_sample(m, k, m->set.columns[m->outputs[1].from].name,
                              "a label is negative or above 16,777,216", err);
        if (label >= c->classes)
            c->classes = label + 1;
    }
    return TUTTI_OK;
}

static tutti_status make_cache(mds *m, int64_t limit_mib, tutti_error *err)
{
    const tutti_desc *d = &m->outputs[0].column.desc;
    if (d->dim[0] < 0 || limit_mib == 0)
        return TUTTI_OK;
    m->image_bytes = tutti_nbytes(d);
    if (m->image_bytes * (uint64_t)m->set.samples > (uint64_t)limit_mib << 20)
        return TUTTI_OK;
    m->cache = malloc(m->image_bytes * (uint64_t)m->set.samples);
    m->have = calloc((size_t)m->set.samples, 1);
    if (!m->cache || !m->have)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory for a cache of decoded images");
    return TUTTI_OK;
}

static tutti_status close(void *self, tutti_error *err)
{
    mds *m = self;
    (void)err;
    mds_close(&m->set);
    free(m->cache);
    free(m->have);
    free(m);
    return TUTTI_OK;
}

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    (void)host;
    mds *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    strcpy(m->outputs[0].column.name, "input");
    strcpy(m->outputs[1].column.name, "target");
    m->outputs[1].kind = AS_NUMBER;
    m->outputs[1].column.desc.dtype = TUTTI_I32;
    tutti_status s = mds_open(&m->set, tutti_param_str(params, "path"),
                              (int32_t)tutti_param_i64(params, "verify"), err);
    if (s ||
        (s = choose(m, tutti_param_str(params, "image_column"), 1, &m->outputs[0].from, err)) ||
        (s = choose(m, tutti_param_str(params, "label_column"), 0, &m->outputs[1].from, err)) ||
        (s = find_shape(m, err)) ||
        (s = count_classes(m, tutti_param_i64(params, "classes"), err)) ||
        (s = make_cache(m, tutti_param_i64(params, "cache_mib"), err))) {
        (void)close(m, NULL);
        return s;
    }
    *ret_self = m;
    return TUTTI_OK;
}

static const tutti_dataset_v1 table = {sizeof table, 0, info, read};

static const void *query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {sizeof calls, 0, open, NULL, NULL, NULL, close, NULL, query};
static const tutti_object object = TUTTI_OBJECT_INIT("mds", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.mds", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
