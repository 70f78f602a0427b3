/* class_names.c - what classes are called by the data of a run and by a checkpoint, and where two of them differ. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/class_names.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

class_names class_names_of(const data_source *data, const char *where)
{
    class_names n = {.data = data->dataset ? data : NULL};
    (void)snprintf(n.where, sizeof n.where, "%s", where);
    return n;
}

class_names class_names_in(const json_doc *doc, const char *where)
{
    class_names n = {.root = json_root(doc)};
    (void)snprintf(n.where, sizeof n.where, "%s", where);
    return n;
}

const char *class_names_at(const class_names *n, const char *column, int64_t k)
{
    if (n->root)
        return json_string(json_at(json_get(n->root, column), (size_t)k));
    const tutti_class_names_v1 *table =
        n->data ? instance_query(n->data->dataset, TUTTI_CLASS_NAMES_V1) : NULL;
    return table ? table->name(instance_self(n->data->dataset), column, k) : NULL;
}

int64_t class_names_count(const class_names *n, const char *column)
{
    int64_t k = 0;
    while (class_names_at(n, column, k))
        k++;
    return k;
}

static const char *column_at(const data_source *data, uint32_t k)
{
    const tutti_dataset_info *info = data && data->loader ? loader_dataset(data->loader) : NULL;
    return info && k < info->ncolumns ? info->columns[k].name : NULL;
}

tutti_status class_names_json(const data_source *data, char **ret_json, tutti_error *err)
{
    const class_names n = class_names_of(data, "");
    const char *column, *name;
    text_buffer b = {.data = NULL};
    for (uint32_t c = 0; (column = column_at(data, c)); c++) {
        for (int64_t k = 0; (name = class_names_at(&n, column, k)); k++) {
            if (k == 0) {
                text_add(&b, "%s", b.size ? "], " : "{");
                text_add_quoted(&b, column);
            }
            text_add(&b, "%s", k ? ", " : ": [");
            text_add_quoted(&b, name);
        }
    }
    if (b.size)
        text_add(&b, "]}");
    if (b.failed) {
        free(b.data);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for names of classes");
    }
    *ret_json = b.data;
    return TUTTI_OK;
}

static tutti_status columns_agree(const class_names *known, const class_names *data,
                                  const char *column, tutti_error *err)
{
    const char *a, *b;
    for (int64_t k = 0;
         (a = class_names_at(known, column, k)) && (b = class_names_at(data, column, k)); k++)
        if (strcmp(a, b) != 0)
            return tutti_fail(err, TUTTI_E_ARG,
                              "class %lld of \"%.60s\" is \"%.80s\" in %s and \"%.80s\" in %s, "
                              "want the same classes in the same order",
                              (long long)k, column, b, data->where, a, known->where);
    return TUTTI_OK;
}

tutti_status class_names_agree(const class_names *known, const class_names *data,
                               tutti_error *err)
{
    const char *column;
    tutti_status s = TUTTI_OK;
    for (uint32_t c = 0; (column = column_at(data->data, c)) && !s; c++)
        s = columns_agree(known, data, column, err);
    return s;
}

bool class_names_differ(const class_names *known, const class_names *data, char *text,
                        size_t size, bool *ret_more)
{
    const char *column;
    for (uint32_t c = 0; (column = column_at(data->data, c)); c++) {
        const int64_t a = class_names_count(known, column), b = class_names_count(data, column);
        if (a == 0 || b == 0 || a == b)
            continue;
        (void)snprintf(text, size, "\"%.60s\" has %lld classes in %s and %lld in %s", column,
                       (long long)b, data->where, (long long)a, known->where);
        *ret_more = b > a;
        return true;
    }
    return false;
}
