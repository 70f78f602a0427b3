/* plugin.c - table: rows of numbers of CSV, TSV and JSON lines, with numbers or a class as targets. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tutti.class_names/1 */
#define TUTTI_MIN_MINOR 0 /* which an older host does not ask for */
#include "../common/labelled.h"
#include "../common/records.h"
#include "fields.h"

#include "tutti/dataset.h"
#include "tutti/tutti.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct table {
    fields inputs, targets; /* targets have no numbers where they are classes */
    numbers values;         /* of each row its inputs, then its targets */
    labelled labels;        /* classes of the rows */
    int64_t rows;
    size_t first_fields; /* of the first row, where the inputs are all fields; else 0 */
    int classes;         /* the target is a class */
    uint32_t ncolumns;
} table;

/* ---- reading ---- */

static tutti_status table_row(table *t, const json_t *record, const double *missing,
                              const char *where, tutti_error *err)
{
    static const char words[] = "; texts are read by the data set documents";
    static const char classes[] = ", or \"target_type\": \"class\"";
    tutti_status s = TUTTI_OK;
    if (!t->rows && !t->inputs.count) {
        s = fields_rest(&t->inputs, record, &t->targets, err);
        t->first_fields = json_object_size(record);
    }
    if (s == TUTTI_OK && t->first_fields && json_object_size(record) != t->first_fields)
        s = tutti_fail(err, TUTTI_E_FORMAT,
                       "%s: has %zu fields, the first row has %zu; \"inputs\" names those that "
                       "are read",
                       where, json_object_size(record), t->first_fields);
    if (s == TUTTI_OK)
        s = fields_read(&t->inputs, record, missing, words, where, &t->values, err);
    if (s == TUTTI_OK && t->classes)
        s = labelled_add(&t->labels, 0, 0, record, t->targets.items[0].name, where, err);
    else if (s == TUTTI_OK)
        s = fields_read(&t->targets, record, NULL, classes, where, &t->values, err);
    t->rows += s == TUTTI_OK;
    return s;
}

static tutti_status table_read_all(table *t, const tutti_params *params, tutti_error *err)
{
    const char *path = tutti_param_str(params, "path");
    const double missing = tutti_param_f64(params, "missing");
    const double *const given = tutti_param_is_set(params, "missing") ? &missing : NULL;
    char where[4160];
    records file;
    json_t *record = NULL;
    tutti_status s = records_open(&file, path, tutti_param_str(params, "format"), err);
    if (s)
        return s;
    while ((s = records_next(&file, &record, err)) == TUTTI_OK && record) {
        (void)snprintf(where, sizeof where, "%s:%llu", path, (unsigned long long)file.here);
        s = table_row(t, record, given, where, err);
        json_decref(record);
        if (s)
            break;
    }
    records_close(&file);
    if (s == TUTTI_OK && !t->rows)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: has no rows", path);
    if (s == TUTTI_OK && !t->inputs.width)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: has no field that is no target", path);
    return s;
}

/* ---- settings ---- */

static tutti_status table_name(table *t, const tutti_params *params, tutti_error *err)
{
    const tutti_param *inputs = tutti_param_find(params, "inputs");
    t->classes = strcmp(tutti_param_str(params, "target_type"), "class") == 0;
    tutti_status s = fields_name(&t->targets, tutti_param_find(params, "targets"), err);
    if (s == TUTTI_OK)
        s = fields_name(&t->inputs, inputs, err);
    if (s == TUTTI_OK && t->classes && t->targets.count != 1)
        s = tutti_fail(err, TUTTI_E_ARG,
                       "table: target_type is class, want one field in \"targets\", not %llu",
                       (unsigned long long)t->targets.count);
    if (s == TUTTI_OK && !t->classes && tutti_param_is_set(params, "labels"))
        s = tutti_fail(err, TUTTI_E_ARG, "table: labels are of \"target_type\": \"class\"");
    for (uint64_t k = 0; k < t->inputs.count && s == TUTTI_OK; k++)
        for (uint64_t j = 0; j < t->targets.count && s == TUTTI_OK; j++)
            if (strcmp(t->inputs.items[k].name, t->targets.items[j].name) == 0)
                s = tutti_fail(err, TUTTI_E_ARG,
                               "table: the field \"%s\" is in inputs and in targets",
                               t->inputs.items[k].name);
    return s;
}

static tutti_status table_fill(table *t, const tutti_params *params, tutti_error *err)
{
    tutti_status s = table_name(t, params, err);
    if (s == TUTTI_OK)
        s = table_read_all(t, params, err);
    t->ncolumns = t->targets.count ? 2 : 1;
    return s || !t->classes ? s
                            : labelled_number(&t->labels, tutti_param_str(params, "labels"),
                                              tutti_param_str(params, "path"), err);
}

/* ---- the dataset ---- */

static tutti_status table_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    const table *t = self;
    tutti_desc target = {{(int64_t)t->targets.width}, t->targets.width > 1, TUTTI_F32};
    (void)err;
    if (t->classes)
        target.dtype = TUTTI_I32;
    ret->samples = t->rows;
    ret->ncolumns = t->ncolumns;
    ret->columns[0] = (tutti_column){"input", {{(int64_t)t->inputs.width}, 1, TUTTI_F32}, 0};
    if (t->ncolumns > 1)
        ret->columns[1] = (tutti_column){"target", target, t->classes ? t->labels.classes : 0};
    return TUTTI_OK;
}

static tutti_status table_read(void *self, int64_t index, tutti_tensor *columns,
                               const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    const table *t = self;
    tutti_dataset_info info = {.struct_size = sizeof info};
    if (index < 0 || index >= t->rows || ncolumns != t->ncolumns)
        return tutti_fail(err, TUTTI_E_RANGE, "table: row %lld, there are %lld",
                          (long long)index, (long long)t->rows);
    const tutti_status s = table_info(self, &info, err);
    const uint64_t in = t->inputs.width, out = t->targets.width;
    const float *row = t->values.data + (uint64_t)index * (in + out);
    for (uint32_t k = 0; k < ncolumns; k++) {
        columns[k].desc = info.columns[k].desc;
        if (capacity[k] < tutti_nbytes(&columns[k].desc))
            return tutti_fail(err, TUTTI_E_RANGE, "table: row %lld does not fit",
                              (long long)index);
    }
    memcpy(columns[0].data, row, in * sizeof *row);
    if (ncolumns > 1 && t->classes)
        *(int32_t *)columns[1].data = (int32_t)t->labels.rows[index].label.number;
    else if (ncolumns > 1)
        memcpy(columns[1].data, row + in, out * sizeof *row);
    return s;
}

static const char *table_class(void *self, const char *column, int64_t index)
{
    const table *t = self;
    return !column || strcmp(column, "target") == 0 ? label_names_text(&t->labels.names, index)
                                                    : NULL;
}

static tutti_status table_close(void *self, tutti_error *err)
{
    table *t = self;
    (void)err;
    fields_free(&t->inputs);
    fields_free(&t->targets);
    labelled_free(&t->labels);
    free(t->values.data);
    free(t);
    return TUTTI_OK;
}

static tutti_status table_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    (void)host;
    table *t = calloc(1, sizeof *t);
    if (!t)
        return tutti_fail(err, TUTTI_E_NOMEM, "table: no memory");
    const tutti_status s = table_fill(t, params, err);
    if (s)
        (void)table_close(t, NULL);
    else
        *ret_self = t;
    return s;
}

static const void *table_query(void *self, const char *id)
{
    static const tutti_dataset_v1 dataset = {
        .struct_size = sizeof dataset, .info = table_info, .read = table_read};
    static const tutti_class_names_v1 names = {.struct_size = sizeof names,
                                               .name = table_class};
    if (strcmp(id, TUTTI_CLASS_NAMES_V1) == 0)
        return ((const table *)self)->labels.names.count ? &names : NULL;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &dataset : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti.table", "1.0.0", "table", TUTTI_KIND_DATASET, .open = table_open,
                    .close = table_close, .query = table_query);
