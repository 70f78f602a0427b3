/* object.c - from a JSON text to an opened object. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/object.h"

#include <string.h>

static const char *const own_keys[] = {"name", NULL};

/* The object that the text names, and its settings, which the caller frees with params_free. */
static tutti_status read_object(registry *r, const char *kind, const json_node *root,
                                const object **ret_object, tutti_params **ret_params,
                                tutti_error *err)
{
    const json_node *name = json_get(root, "name");
    if (!name || json_type(name) != JSON_STRING)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s: want an object with its name, such as {\"name\": \"...\"}",
                          kind);
    faults *f = faults_create();
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory to read a %s", kind);
    tutti_status s = registry_find(r, kind, json_string(name), ret_object, err);
    if (!s) {
        *ret_params = params_from_json(*ret_object, root, own_keys, ".", f);
        if (!*ret_params)
            s = faults_count(f) ? tutti_fail(err, TUTTI_E_ARG, "%s", faults_text(f, 0))
                                : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a %s", kind);
    }
    if (!s && (s = object_check(*ret_object, json_string(name), *ret_params, err)))
        params_free(*ret_params);
    faults_destroy(f);
    return s;
}

tutti_status object_open_json(registry *r, const char *kind, const char *json, const char *id,
                              service_fn services, void *ctx, instance **ret_instance,
                              const void **ret_table, tutti_error *err)
{
    json_doc *doc = NULL;
    const object *o = NULL;
    tutti_params *params = NULL;
    instance *i = NULL;
    tutti_status s = json_parse(kind, json, strlen(json), &doc, err);
    if (s)
        return s;
    s = read_object(r, kind, json_root(doc), &o, &params, err);
    if (!s && (s = instance_open(o, object_describe(o)->name, params, services, ctx, &i, err)))
        params_free(params);
    json_free(doc);
    if (s)
        return s;
    const void *table = instance_query(i, id);
    if (!table) {
        s = tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s %s has no %s", kind, instance_name(i), id);
        instance_free(i);
        return s;
    }
    *ret_instance = i;
    *ret_table = table;
    return TUTTI_OK;
}
