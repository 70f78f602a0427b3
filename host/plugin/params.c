/* params.c - a whole set of settings: from a run file, from attributes, as text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"
#include "plugin/spec.h"
#include "tutti/graph.h"

#include <stdlib.h>
#include <string.h>

void params_free(tutti_params *p)
{
    if (!p)
        return;
    for (uint32_t k = 0; k < p->count; k++)
        value_free(p->items[k]);
    free((void *)p->items);
    free(p);
}

static bool is_skipped(const char *key, const char *const *skip)
{
    if (strcmp(key, "name") == 0 || strcmp(key, "id") == 0)
        return true;
    for (; skip && *skip; skip++)
        if (strcmp(key, *skip) == 0)
            return true;
    return false;
}

/* A fault for a setting that the manifest does not know, with the nearest that it does. */
static void refuse_unknown(const object *o, const json_node *member, const value_rules *rules)
{
    const char *words[MEMBER_ITEMS + 1];
    text_buffer all = {0};
    for (size_t k = 0; k < o->nspecs; k++) {
        words[k] = o->specs[k].name;
        text_add(&all, "%s%s", k ? ", " : "", words[k]);
    }
    words[o->nspecs] = NULL;
    const suggestion near = suggest_word(json_key(member), words);
    if (near.word)
        value_fault(rules, member, "%s has no such setting%s", o->info.name, near.text);
    else if (o->nspecs)
        value_fault(rules, member, "%s has no such setting; it has %s", o->info.name,
                    all.data ? all.data : "others");
    else
        value_fault(rules, member, "%s has no such setting; it has none", o->info.name);
    free(all.data);
}

/* `given` may have a setting called "name" or "id" only if the manifest declares it. */
static const json_node *given_value(const json_node *given, const char *name,
                                    const char *const *skip)
{
    return given && !is_skipped(name, skip) ? json_get(given, name) : NULL;
}

static tutti_param *read_one(const spec *s, const json_node *given, const char *const *skip,
                             const value_rules *rules, const char *owner)
{
    const json_node *value = given_value(given, s->name, skip);
    if (!value)
        value = s->fallback;
    if (value)
        return value_read(s, value, rules);
    if (!s->required)
        return value_null(s, rules);
    text_buffer want = {0};
    spec_text(s, &want);
    value_fault(rules, given, "%s is missing: %s requires %s", s->name, owner,
                want.data ? want.data : "it");
    free(want.data);
    return NULL;
}

static tutti_params *read_all(const object *o, const json_node *given, const char *const *skip,
                              const value_rules *rules)
{
    const size_t before = faults_count(rules->faults);
    for (size_t k = 0; given && k < json_count(given); k++) {
        const json_node *member = json_at(given, k);
        bool known = is_skipped(json_key(member), skip);
        for (size_t m = 0; m < o->nspecs && !known; m++)
            known = strcmp(o->specs[m].name, json_key(member)) == 0;
        if (!known)
            refuse_unknown(o, member, rules);
    }
    tutti_params *p = calloc(1, sizeof *p);
    const tutti_param **items = calloc(o->nspecs + 1, sizeof *items);
    if (!p || !items) {
        faults_add_no_memory(rules->faults, NULL);
        free(p);
        free(items);
        return NULL;
    }
    p->struct_size = (uint32_t)sizeof *p;
    p->items = items;
    for (size_t k = 0; k < o->nspecs; k++) {
        const tutti_param *item = read_one(&o->specs[k], given, skip, rules, o->info.name);
        if (item)
            items[p->count++] = item;
    }
    if (faults_count(rules->faults) > before || p->count < o->nspecs) {
        params_free(p);
        return NULL;
    }
    return p;
}

tutti_params *params_from_json(const object *o, const json_node *given, const char *const *skip,
                               const char *folder, faults *f)
{
    const value_rules rules = {.folder = folder, .faults = f};
    if (given && json_type(given) != JSON_OBJECT) {
        faults_add(f, given, "is %s, want an object of settings for %s", json_type_name(given),
                   o->info.name);
        return NULL;
    }
    return read_all(o, given, skip, &rules);
}

/* A text: of a list setting the array that it spells, else a string. */
static void add_text(text_buffer *b, const object *o, const tutti_attr *a)
{
    const char *text = a->text ? a->text : "";
    json_doc *doc = NULL;
    char *array = NULL;
    for (size_t k = 0; k < o->nspecs; k++) {
        if (strcmp(o->specs[k].name, a->name) != 0 || o->specs[k].type != TUTTI_PARAM_LIST)
            continue;
        const tutti_status s = json_parse(a->name, text, strlen(text), &doc, NULL);
        array = s ? NULL : json_text(json_root(doc));
        b->failed = b->failed || s == TUTTI_E_NOMEM || (!s && !array);
    }
    if (array)
        text_add(b, "%s", array);
    else
        text_add_quoted(b, text);
    free(array);
    json_free(doc);
}

static void add_attr(text_buffer *b, const object *o, const tutti_attr *a)
{
    char number[TEXT_REAL_SIZE];
    text_add_quoted(b, a->name);
    text_add(b, ":");
    switch (a->type) {
    case TUTTI_ATTR_I64:
        text_add(b, "%lld", (long long)a->i);
        return;
    case TUTTI_ATTR_F64:
        text_add(b, "%s", text_real(a->f, number));
        text_add(b, "%s", strpbrk(number, ".ein") ? "" : ".0");
        return;
    case TUTTI_ATTR_LIST:
        text_add(b, "[");
        for (uint32_t k = 0; k < a->count; k++)
            text_add(b, "%s%lld", k ? "," : "", (long long)a->list[k]);
        text_add(b, "]");
        return;
    case TUTTI_ATTR_TEXT:
        add_text(b, o, a);
        return;
    default:
        text_add(b, "\"of attribute type %d\"", (int)a->type);
    }
}

tutti_status params_from_attrs(const object *o, const void *attrs, uint32_t nattrs,
                               tutti_params **ret_params, tutti_error *err)
{
    const tutti_attr *list = attrs;
    text_buffer b = {0};
    json_doc *doc = NULL;
    faults *f = faults_create();
    tutti_status status = TUTTI_OK;
    text_add(&b, "{");
    for (uint32_t k = 0; k < nattrs; k++) {
        text_add(&b, "%s", k ? "," : "");
        add_attr(&b, o, &list[k]);
    }
    text_add(&b, "}");
    if (!f || b.failed)
        status = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its settings", o->info.name);
    else
        status = json_parse(o->info.name, b.data, b.size, &doc, err);
    if (!status) {
        /* Attributes have no "name" and "id" of their own. */
        const value_rules rules = {.from_attrs = true, .owner = o->info.name, .faults = f};
        tutti_params *p = read_all(o, json_root(doc), NULL, &rules);
        if (p)
            *ret_params = p;
        else
            status = tutti_fail(err, TUTTI_E_ARG, "%s", faults_text(f, 0));
    }
    json_free(doc);
    free(b.data);
    faults_destroy(f);
    return status;
}

static void write_value(text_buffer *b, const tutti_param *p)
{
    char number[TEXT_REAL_SIZE];
    switch (p->type) {
    case TUTTI_PARAM_NULL:
        text_add(b, "null");
        return;
    case TUTTI_PARAM_BOOL:
        text_add(b, p->i ? "true" : "false");
        return;
    case TUTTI_PARAM_INT:
        text_add(b, "%lld", (long long)p->i);
        return;
    case TUTTI_PARAM_FLOAT:
        text_add(b, "%s", text_real(p->f, number));
        return;
    case TUTTI_PARAM_LIST:
        text_add(b, "[");
        for (uint64_t k = 0; k < p->count; k++) {
            text_add(b, "%s", k ? "," : "");
            write_value(b, p->items[k]);
        }
        text_add(b, "]");
        return;
    default:
        text_add_quoted(b, p->s);
    }
}

char *params_text(const tutti_params *p)
{
    text_buffer b = {0};
    text_add(&b, "{");
    for (uint32_t k = 0; k < p->count; k++) {
        text_add(&b, "%s", k ? "," : "");
        text_add_quoted(&b, p->items[k]->name);
        text_add(&b, ":");
        write_value(&b, p->items[k]);
    }
    text_add(&b, "}");
    if (b.failed) {
        free(b.data);
        return NULL;
    }
    return b.data;
}
