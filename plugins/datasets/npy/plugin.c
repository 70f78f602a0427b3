/* plugin.c - npy: NumPy's arrays as a dataset. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/npy_array.h"

#include "tutti/dataset.h"
#include "tutti/tutti.h"

#include <stdio.h>
#include <stdlib.h>

enum { IGNORED = -100 }; /* the class that counts in no loss and no metric */

enum { MORE = TUTTI_MAX_COLUMNS - 2 }; /* columns beside the input and the target */

typedef struct npy {
    npy_array inputs;
    npy_array targets; /* name NULL: none */
    tutti_dataset_info info;
    int64_t ignored; /* the label that becomes IGNORED */
    int32_t classes; /* targets are given as classes */
    int32_t table;   /* samples are rows of numbers; the one of `column` is the target */
    int64_t column;
    npy_array more[MORE]; /* the columns behind the target, or behind the input */
    uint32_t nmore;
    uint32_t reserved;
} npy;

/* ---- tables ---- */

/* A row is read as f32: what is left of it without its target, and the target. */
static tutti_status open_table(npy *d, const tutti_params *params, tutti_error *err)
{
    const npy_array *a = &d->inputs;
    const int64_t given = tutti_param_i64(params, "target_column"), n = a->sample.dim[0];
    char text[96];
    if (tutti_param_is_set(params, "targets") || tutti_param_is_set(params, "targets_key"))
        return tutti_fail(err, TUTTI_E_ARG,
                          "npy: targets come from target_column, or from another array");
    if (a->sample.rank != 1 || n < 2 || (a->kind == 'f' && a->width == 2))
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "%s: samples are %s, want rows of two or more numbers, of 32 bits or "
                          "64 if they are floats",
                          a->name, tutti_desc_text(&a->sample, text, sizeof text));
    d->column = given < 0 ? given + n : given;
    if (d->column < 0 || d->column >= n)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "%s: target_column is %lld, rows have %lld numbers", a->name,
                          (long long)given, (long long)n);
    d->table = 1;
    d->info.ncolumns = 2;
    d->info.columns[0].desc = (tutti_desc){{n - 1}, 1, TUTTI_F32};
    d->info.columns[1].desc = (tutti_desc){{0}, 0, TUTTI_F32};
    (void)snprintf(d->info.columns[1].name, sizeof d->info.columns[1].name, "target");
    return TUTTI_OK;
}

static void read_row(const npy *d, int64_t index, float *inputs, float *target)
{
    const int64_t n = d->inputs.sample.dim[0];
    for (int64_t k = 0; k < n; k++) {
        const float value = (float)npy_number(&d->inputs, index, (uint64_t)k);
        if (k == d->column)
            *target = value;
        else
            *inputs++ = value;
    }
}

/* ---- targets ---- */

/* One whole number a sample, or a map of them whose classes are told. */
static int are_classes(const npy_array *a, int64_t given)
{
    return a->kind != 'f' && a->kind != 'b' && (given > 0 || a->bytes == (uint64_t)a->width);
}

/* Label `k` of a sample as a class. */
static tutti_status read_class(const npy *d, int64_t index, uint64_t k, int64_t most,
                               int32_t *ret, tutti_error *err)
{
    const int64_t label = npy_whole(&d->targets, index, k);
    if (label != d->ignored && (label < 0 || label > most))
        return tutti_fail(err, TUTTI_E_RANGE, "%s: sample %lld: label %lld, want 0 to %lld",
                          d->targets.name, (long long)index, (long long)label, (long long)most);
    *ret = label == d->ignored ? IGNORED : (int32_t)label;
    return TUTTI_OK;
}

/* Labels of samples are looked at now, those of maps when they are read. */
static tutti_status check_classes(npy *d, int64_t given, tutti_error *err)
{
    const npy_array *a = &d->targets;
    tutti_column *c = &d->info.columns[1];
    const int64_t most = given ? given - 1 : 1 << 24;
    d->classes = 1;
    c->desc = a->sample;
    c->desc.dtype = TUTTI_I32;
    c->classes = given;
    if (a->bytes != (uint64_t)a->width)
        return TUTTI_OK;
    c->desc = (tutti_desc){{0}, 0, TUTTI_I32};
    for (int64_t k = 0; k < a->samples; k++) {
        int32_t label = 0;
        const tutti_status s = read_class(d, k, 0, most, &label, err);
        if (s)
            return s;
        if (label >= c->classes)
            c->classes = label + 1;
    }
    return TUTTI_OK;
}

static tutti_status read_classes(const npy *d, int64_t index, int32_t *to, tutti_error *err)
{
    const int64_t n = tutti_numel(&d->info.columns[1].desc);
    tutti_status s = TUTTI_OK;
    for (int64_t k = 0; s == TUTTI_OK && k < n; k++)
        s = read_class(d, index, (uint64_t)k, d->info.columns[1].classes - 1, &to[k], err);
    return s;
}

static tutti_status check_targets(npy *d, int64_t classes, tutti_error *err)
{
    tutti_column *c = &d->info.columns[1];
    if (d->targets.samples != d->inputs.samples)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: has %lld targets, %s has %lld samples",
                          d->targets.name, (long long)d->targets.samples, d->inputs.name,
                          (long long)d->inputs.samples);
    (void)snprintf(c->name, sizeof c->name, "target");
    if (are_classes(&d->targets, classes))
        return check_classes(d, classes, err);
    c->desc = d->targets.sample;
    return TUTTI_OK;
}

/* ---- further columns ---- */

/* The name of a column: that of a setting. */
static int is_column_name(const char *name)
{
    const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return n > 0 && !name[n] && n < sizeof((tutti_column *)NULL)->name;
}

static tutti_status check_name(const npy *d, const char *item, tutti_error *err)
{
    if (!is_column_name(item))
        return tutti_fail(err, TUTTI_E_ARG,
                          "npy: column_names has \"%s\", want a name of at most %zu small "
                          "letters, digits and _",
                          item, sizeof d->info.columns[0].name - 1);
    for (uint32_t k = 0; k < d->info.ncolumns; k++)
        if (strcmp(d->info.columns[k].name, item) == 0)
            return tutti_fail(err, TUTTI_E_ARG, "npy: there are two columns \"%s\"", item);
    return TUTTI_OK;
}

static tutti_status add_column(npy *d, const char *name, const char *path, const char *key,
                               tutti_error *err)
{
    tutti_status s = check_name(d, name, err);
    if (s)
        return s;
    npy_array *a = &d->more[d->nmore++];
    s = npy_open(a, path, key, "column_keys", err);
    if (s == TUTTI_OK && a->samples != d->info.samples)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: has %lld samples, %s has %lld", a->name,
                       (long long)a->samples, d->inputs.name, (long long)d->info.samples);
    if (s)
        return s;
    tutti_column *c = &d->info.columns[d->info.ncolumns++];
    (void)snprintf(c->name, sizeof c->name, "%s", name);
    c->desc = a->sample;
    return TUTTI_OK;
}

/* Column `column_names[k]` from the file `columns[k]`, of an archive its member `column_keys[k]`. */
static tutti_status open_more(npy *d, const tutti_params *params, tutti_error *err)
{
    const tutti_param *names = tutti_param_find(params, "column_names");
    const tutti_param *paths = tutti_param_find(params, "columns");
    const tutti_param *keys = tutti_param_find(params, "column_keys");
    tutti_status s = TUTTI_OK;
    if (names->count != paths->count || (keys->count && keys->count != names->count))
        return tutti_fail(
            err, TUTTI_E_ARG,
            "npy: columns has %llu files, column_names %llu names and column_keys "
            "%llu, want as many of each, or no keys",
            (unsigned long long)paths->count, (unsigned long long)names->count,
            (unsigned long long)keys->count);
    for (uint64_t k = 0; k < names->count && s == TUTTI_OK; k++)
        s = add_column(d, names->items[k]->s, paths->items[k]->s,
                       keys->count && *keys->items[k]->s ? keys->items[k]->s : NULL, err);
    return s;
}

/* ---- the dataset ---- */

/* The array of column k, of a table too. */
static const npy_array *npy_column(const npy *d, uint32_t k)
{
    const uint32_t own = d->info.ncolumns - d->nmore;
    return k >= own ? &d->more[k - own] : k && !d->table ? &d->targets : &d->inputs;
}

static tutti_status npy_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    const npy *d = self;
    (void)err;
    ret->samples = d->info.samples;
    ret->ncolumns = d->info.ncolumns;
    memcpy(ret->columns, d->info.columns, sizeof ret->columns);
    return TUTTI_OK;
}

static tutti_status npy_sample(void *self, int64_t index, tutti_tensor *columns,
                               const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    const npy *d = self;
    tutti_status s;
    if (index < 0 || index >= d->info.samples || ncolumns != d->info.ncolumns)
        return tutti_fail(err, TUTTI_E_RANGE, "npy: sample %lld, there are %lld",
                          (long long)index, (long long)d->info.samples);
    for (uint32_t k = 0; k < ncolumns; k++) {
        const npy_array *a = npy_column(d, k);
        columns[k].desc = d->info.columns[k].desc;
        if (capacity[k] < tutti_nbytes(&columns[k].desc))
            return tutti_fail(err, TUTTI_E_RANGE,
                              "%s: sample %lld does not fit into %llu bytes", a->name,
                              (long long)index, (unsigned long long)capacity[k]);
        if (d->table && (a == &d->inputs))
            continue;
        if (a != &d->targets || !d->classes)
            npy_read(a, index, columns[k].data);
        else if ((s = read_classes(d, index, columns[k].data, err)))
            return s;
    }
    if (d->table)
        read_row(d, index, columns[0].data, columns[1].data);
    return TUTTI_OK;
}

static tutti_status npy_close_self(void *self, tutti_error *err)
{
    npy *d = self;
    (void)err;
    npy_close(&d->inputs);
    npy_close(&d->targets);
    for (uint32_t k = 0; k < d->nmore; k++)
        npy_close(&d->more[k]);
    free(d);
    return TUTTI_OK;
}

static tutti_status fill_first(npy *d, const tutti_params *params, tutti_error *err)
{
    const char *inputs = tutti_param_str(params, "inputs");
    const char *key = tutti_param_str(params, "targets_key");
    const char *targets = tutti_param_str(params, "targets");
    d->ignored = tutti_param_i64(params, "ignore_index");
    tutti_status s =
        npy_open(&d->inputs, inputs, tutti_param_str(params, "inputs_key"), "inputs_key", err);
    if (s)
        return s;
    tutti_column *in = &d->info.columns[0];
    (void)snprintf(in->name, sizeof in->name, "input");
    in->desc = d->inputs.sample;
    if (in->desc.rank == 2)
        in->desc.dim[in->desc.rank++] = 1;
    d->info.samples = d->inputs.samples;
    if (tutti_param_is_set(params, "target_column"))
        return open_table(d, params, err);
    d->info.ncolumns = targets || key ? 2 : 1;
    if (d->info.ncolumns == 1)
        return TUTTI_OK;
    s = npy_open(&d->targets, targets ? targets : inputs, key, "targets_key", err);
    return s ? s : check_targets(d, tutti_param_i64(params, "classes"), err);
}

static tutti_status npy_fill(npy *d, const tutti_params *params, tutti_error *err)
{
    const tutti_status s = fill_first(d, params, err);
    return s ? s : open_more(d, params, err);
}

static tutti_status npy_open_self(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    (void)host;
    npy *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "npy: no memory");
    const tutti_status s = npy_fill(d, params, err);
    if (s)
        (void)npy_close_self(d, NULL);
    else
        *ret_self = d;
    return s;
}

static const void *npy_query(void *self, const char *id)
{
    static const tutti_dataset_v1 table = {
        .struct_size = sizeof table, .info = npy_info, .read = npy_sample};
    (void)self;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = npy_open_self,
                                  .close = npy_close_self,
                                  .query = npy_query};
static const tutti_object object = TUTTI_OBJECT_INIT("npy", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.npy", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
