/* open.c - which columns become input and target, of which shapes and classes; sets of tokens. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of a kind that can be an input, or a target: numbers alone, where it is not called so. */
static int column_suits(const mds_column *c, int target, int called)
{
    mds_encoding e;
    char why[IMAGE_WHY_SIZE];
    if (mds_encoding_parse(c->encoding, &e, why) != TUTTI_OK)
        return 0;
    const int number = e.kind == MDS_NUMBER || e.kind == MDS_DIGITS;
    return target ? number || called : !number && e.kind != MDS_TEXT;
}

/* The column that the run names, or else the one that is called input or target, or else the first of a
 * kind that suits; never the one that is `taken`.  -1: none. */
static tutti_status choose_column(mds *m, const char *name, int target, int32_t taken,
                                  int32_t *ret, tutti_error *err)
{
    *ret = name ? mds_find(&m->set, name) : -1;
    if (name && *ret < 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "%s/index.json: there is no column %s",
                          m->set.folder, name);
    for (int32_t k = 0; !name && k < (int32_t)m->set.ncolumns; k++) {
        const int called = strcmp(m->set.columns[k].name, target ? "target" : "input") == 0;
        if (k != taken && (called || *ret < 0) &&
            column_suits(&m->set.columns[k], target, called))
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

/* A sample to look at while opening: of a remote set one of its first shard, so that no more is fetched. */
static int64_t probe_index(const mds *m, int64_t k)
{
    const mds_shard *first = mds_shard_of((mds_set *)(uintptr_t)&m->set, 0);
    return (m->set.cache ? first->samples : m->set.samples) * k / PROBES;
}

/* The shape of the column: that of every sample if the encoding fixes it; else that of a few
 * samples, where a dimension in which they differ is open. */
static tutti_status find_shape(mds *m, output *o, tutti_error *err)
{
    tutti_desc all = {0};
    for (int64_t k = 0; k < PROBES; k++) {
        mds_row row;
        const int64_t index = probe_index(m, k);
        tutti_desc d;
        tutti_status s = mds_sample(&m->set, index, &row, err);
        if (s)
            return s;
        s = mds_shape_of(m, index, o, &row.fields[o->from], &d, err);
        mds_done(&m->set, index, &row);
        if (s)
            return s;
        if (k == 0)
            all = d;
        if (d.rank != all.rank || d.dtype != all.dtype)
            return mds_bad_sample(m, index, o, TUTTI_E_SHAPE,
                                  "has another type or rank than the first sample's", err);
        for (int32_t i = 0; i < d.rank; i++)
            all.dim[i] = all.dim[i] == d.dim[i] ? d.dim[i] : -1;
    }
    o->column.desc = all;
    return TUTTI_OK;
}

/* What each sample's field of an output is looked at for. */
typedef tutti_status look(mds *m, int64_t index, output *o, const mds_field *f,
                          tutti_error *err);

static tutti_status look_at_all(mds *m, output *o, look *at, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if (m->set.cache)
        return tutti_fail(
            err, TUTTI_E_ARG,
            "mds: to count the classes of column %s the whole remote set would be "
            "fetched; want %s",
            m->set.columns[o->from].name,
            o->encoding.kind == MDS_TEXT && m->tokens.from < 0 ? "labels" : "classes");
    for (int64_t k = 0; s == TUTTI_OK && k < m->set.samples; k++) {
        mds_row row;
        s = mds_sample(&m->set, k, &row, err);
        if (s)
            return s;
        s = at(m, k, o, &row.fields[o->from], err);
        mds_done(&m->set, k, &row);
    }
    return s;
}

static tutti_status look_at_label(mds *m, int64_t index, output *o, const mds_field *f,
                                  tutti_error *err)
{
    int64_t label;
    const tutti_status s = mds_read_label(m, index, o, f, 0, &label, err);
    if (s == TUTTI_OK && label >= o->column.classes)
        o->column.classes = label + 1;
    return s;
}

static tutti_status look_at_name(mds *m, int64_t index, output *o, const mds_field *f,
                                 tutti_error *err)
{
    (void)index, (void)o;
    return label_names_add(&m->names, f->data, f->size, err);
}

/* The labels of a target of texts: those of the file `labels`, or all that the set has. */
static tutti_status name_classes(mds *m, const tutti_params *params, tutti_error *err)
{
    output *o = &m->outputs[TARGET];
    const char *path = tutti_param_str(params, "labels");
    const int64_t given = tutti_param_i64(params, "classes");
    tutti_status s =
        path ? label_names_read(&m->names, path, err) : look_at_all(m, o, look_at_name, err);
    if (s)
        return s;
    if (!path)
        label_names_number(&m->names);
    o->column.classes = m->names.count;
    if (given && given != m->names.count)
        return tutti_fail(err, TUTTI_E_ARG, "%s: column %s has %lld labels, classes says %lld",
                          path ? path : m->set.folder, m->set.columns[o->from].name,
                          (long long)m->names.count, (long long)given);
    return TUTTI_OK;
}

/* The file that says what whole numbers are called: `labels`, or the one that lies in the folder; NULL: none. */
static const char *find_labels(const mds *m, const tutti_params *params, char *path,
                               size_t size)
{
    const char *given = tutti_param_str(params, "labels");
    if (given || m->set.nfolders != 1 || m->set.cache)
        return given;
    (void)snprintf(path, size, "%s/" MDS_CLASSES, m->set.folder);
    return access(path, F_OK) == 0 ? path : NULL;
}

static tutti_status open_numbers(mds *m, const tutti_params *params, tutti_error *err)
{
    char own[4096];
    output *o = &m->outputs[TARGET];
    const char *path = find_labels(m, params, own, sizeof own);
    const int64_t given = tutti_param_i64(params, "classes");
    tutti_status s = path ? label_names_read(&m->names, path, err) : TUTTI_OK;
    o->column.classes = m->names.count ? m->names.count : given;
    if (!s && given && given != o->column.classes)
        s = tutti_fail(err, TUTTI_E_ARG, "%s: names %lld classes, classes says %lld", path,
                       (long long)m->names.count, (long long)given);
    return s || o->column.classes ? s : look_at_all(m, o, look_at_label, err);
}

static tutti_status open_classes(mds *m, const tutti_params *params, tutti_error *err)
{
    output *o = &m->outputs[TARGET];
    const tutti_desc scalar = {{0}, 0, TUTTI_I32};
    o->label = 1;
    o->column.desc = scalar;
    if (o->encoding.kind == MDS_TEXT)
        return name_classes(m, params, err);
    return open_numbers(m, params, err);
}

/* ---- tokens ---- */

/* The column that the run names, or else one called tokens; -1: none, or the run names an input. */
static tutti_status choose_tokens(mds *m, const tutti_params *params, tutti_error *err)
{
    const char *name = tutti_param_str(params, "tokens_column");
    const char *type = tutti_param_str(params, "token_type");
    const int32_t k = mds_find(&m->set, name ? name : "tokens");
    m->tokens.from = -1;
    if (name && tutti_param_str(params, "input_column"))
        return tutti_fail(err, TUTTI_E_ARG,
                          "mds: want tokens_column or input_column, not both");
    if (name && k < 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "%s/index.json: there is no column %s",
                          m->set.folder, name);
    if (k < 0 || tutti_param_str(params, "input_column"))
        return TUTTI_OK;
    if (mds_tokens_fit(m->set.columns[k].encoding, type, &m->tokens.encoding))
        m->tokens.from = k;
    else if (name)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "%s/index.json: column %s has the encoding %s, want bytes or an "
                          "ndarray of whole numbers",
                          m->set.folder, name, m->set.columns[k].encoding);
    return TUTTI_OK;
}

/* T: as the run says, or one less than what a few samples have, all of them the same. */
static tutti_status find_length(mds *m, int64_t given, tutti_error *err)
{
    m->tokens.length = given;
    for (int64_t k = 0; !given && k < PROBES; k++) {
        const int64_t index = probe_index(m, k);
        char why[IMAGE_WHY_SIZE] = "";
        mds_row row;
        int64_t count = 0;
        tutti_status s = mds_sample(&m->set, index, &row, err);
        if (s)
            return s;
        s = mds_tokens_count(&m->tokens, &row.fields[m->tokens.from], &count, why);
        mds_done(&m->set, index, &row);
        if (s == TUTTI_OK && (count < 2 || (k > 0 && count != m->tokens.length + 1))) {
            (void)snprintf(why, sizeof why, "has %lld tokens%s", (long long)count,
                           count < 2 ? ", want at least 2"
                                     : ", another sample has more or fewer; set length");
            s = TUTTI_E_SHAPE;
        }
        if (s)
            return mds_bad_sample(m, index, &m->outputs[INPUT], s, why, err);
        m->tokens.length = count - 1;
    }
    return TUTTI_OK;
}

static tutti_status look_at_tokens(mds *m, int64_t index, output *o, const mds_field *f,
                                   tutti_error *err)
{
    int64_t largest;
    char why[IMAGE_WHY_SIZE] = "";
    const tutti_status s = mds_tokens_largest(&m->tokens, f, &largest, why);
    if (s)
        return mds_bad_sample(m, index, o, s, why, err);
    if (largest >= o->column.classes)
        o->column.classes = largest + 1;
    return TUTTI_OK;
}

static tutti_status open_tokens(mds *m, const tutti_params *params, tutti_error *err)
{
    output *in = &m->outputs[INPUT], *out = &m->outputs[TARGET];
    in->from = m->tokens.from;
    tutti_status s = find_length(m, tutti_param_i64(params, "length"), err);
    if (s)
        return s;
    in->column.desc = (tutti_desc){{m->tokens.length}, 1, TUTTI_I32};
    in->column.classes = tutti_param_i64(params, "classes");
    if (!in->column.classes && (s = look_at_all(m, in, look_at_tokens, err)))
        return s;
    m->tokens.classes = in->column.classes;
    *out = *in;
    m->noutputs = OUTPUTS;
    (void)snprintf(in->column.name, sizeof in->column.name, "input");
    (void)snprintf(out->column.name, sizeof out->column.name, "target");
    return TUTTI_OK;
}

/* ---- all of it ---- */

tutti_status mds_open_outputs(mds *m, const tutti_params *params, tutti_error *err)
{
    output *in = &m->outputs[INPUT], *out = &m->outputs[TARGET];
    const char *input = tutti_param_str(params, "input_column");
    const char *target = tutti_param_str(params, "target_column");
    tutti_status s = choose_tokens(m, params, err);
    if (s == TUTTI_OK && m->tokens.from >= 0)
        return open_tokens(m, params, err);
    if (s || (s = choose_column(m, input, 0, -1, &in->from, err)) ||
        (s = choose_column(m, target, 1, in->from, &out->from, err)))
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
    return out->encoding.integer || out->encoding.kind == MDS_TEXT
               ? open_classes(m, params, err)
               : find_shape(m, out, err);
}
