/* sample.c - the fields of one sample as tensors; what is wrong with one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset.h"

#include <stdio.h>
#include <string.h>

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

/* ---- all columns of one sample ---- */

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

tutti_status mds_read_columns(mds *m, int64_t index, const mds_field *fields,
                              tutti_tensor *columns, const uint64_t *capacity, tutti_error *err)
{
    return m->tokens.from >= 0 ? read_tokens(m, index, fields, columns, capacity, err)
                               : read_fields(m, index, fields, columns, capacity, err);
}
