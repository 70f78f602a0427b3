/* params.c - settings out of run files and attributes, checked against the manifest. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/duration.h"
#include "base/text.h"
#include "plugin/plugin_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A tutti_params and its strings are one tree of allocations, freed together. */

static void param_free(tutti_param *p)
{
    if (!p)
        return;
    for (uint64_t k = 0; k < p->count; k++)
        param_free((tutti_param *)(uintptr_t)p->items[k]);
    free((void *)(uintptr_t)p->items);
    free((char *)(uintptr_t)p->name);
    free((char *)(uintptr_t)p->s);
    free(p);
}

void params_free(tutti_params *p)
{
    if (!p)
        return;
    for (uint32_t k = 0; k < p->count; k++)
        param_free((tutti_param *)(uintptr_t)p->items[k]);
    free((void *)(uintptr_t)p->items);
    free(p);
}

/* Where a value comes from, for its faults. */
typedef struct source {
    const json_node *at; /* place of messages */
    const char *folder;
    faults *faults;
    bool failed;
} source;

static void fault(source *s, const json_node *at, const char *text)
{
    s->failed = true;
    faults_add(s->faults, at, "%s", text);
}

/* ", want at least 0" out of the manifest's bounds. */
static const char *bounds(const json_node *spec, char *text, size_t size)
{
    static const char *const keys[] = {"min", "above", "max", "below"};
    static const char *const words[] = {"at least", "above", "at most", "below"};
    size_t used = 0;
    *text = '\0';
    for (int k = 0; k < 4; k++) {
        const json_node *n = json_get(spec, keys[k]);
        if (n && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s %g", used ? " and " : "",
                                     words[k], json_real(n));
    }
    return text;
}

static bool in_bounds(const json_node *spec, double v)
{
    const json_node *min = json_get(spec, "min"), *max = json_get(spec, "max");
    const json_node *above = json_get(spec, "above"), *below = json_get(spec, "below");
    return !isnan(v) && !(min && v < json_real(min)) && !(max && v > json_real(max)) &&
           !(above && v <= json_real(above)) && !(below && v >= json_real(below));
}

static void read_number(source *s, const json_node *spec, const json_node *v, bool whole,
                        tutti_param *p)
{
    char text[320], range[160];
    const char *unit = json_get(spec, "unit") ? json_string(json_get(spec, "unit")) : NULL;
    p->type = whole ? TUTTI_PARAM_INT : TUTTI_PARAM_FLOAT;
    if (json_type(v) != JSON_INT && (whole || json_type(v) != JSON_REAL)) {
        (void)snprintf(text, sizeof text, "is %s, want %s", json_type_name(v),
                       whole ? "a whole number" : "a number");
        fault(s, v, text);
        return;
    }
    p->f = json_real(v);
    p->i = json_type(v) == JSON_INT ? json_int(v) : (int64_t)p->f;
    if (!in_bounds(spec, p->f)) {
        (void)snprintf(text, sizeof text, "is %g, want %s%s%s%s", p->f,
                       bounds(spec, range, sizeof range), unit ? " (" : "", unit ? unit : "",
                       unit ? ")" : "");
        fault(s, v, text);
    }
}

static void read_enum(source *s, const json_node *spec, const json_node *v, tutti_param *p)
{
    const json_node *values = json_get(spec, "values");
    text_buffer b = {0};
    const char *words[65] = {NULL};
    const char *given = json_string(v);
    p->type = TUTTI_PARAM_ENUM;
    for (size_t k = 0; k < json_count(values) && k < 64; k++) {
        words[k] = json_string(json_at(values, k));
        if (given && strcmp(given, words[k]) == 0) {
            p->i = (int64_t)k;
            p->s = strdup(given);
            return;
        }
        text_add(&b, "%s%s", k ? ", " : "", words[k]);
    }
    const char *near = given ? nearest_word(given, words) : NULL;
    char text[400];
    (void)snprintf(text, sizeof text, "is %s%s%s, want one of %s%s%s%s", given ? "\"" : "",
                   given ? given : json_type_name(v), given ? "\"" : "", b.data ? b.data : "",
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    fault(s, v, text);
    free(b.data);
}

static void read_time(source *s, const json_node *spec, const json_node *v, tutti_param *p)
{
    tutti_error e = TUTTI_ERROR_INIT;
    const json_node *units = json_get(spec, "units");
    p->type = TUTTI_PARAM_TIME;
    if (json_type(v) != JSON_STRING) {
        fault(s, v, "want a time such as \"10ep\"");
        return;
    }
    if (duration_parse(json_string(v), &p->t, &e)) {
        fault(s, v, e.text);
        return;
    }
    p->s = strdup(json_string(v));
    p->i = p->t.count;
    p->f = p->t.unit == TUTTI_UNIT_DURATION ? p->t.fraction : (double)p->t.count;
    text_buffer b = {0};
    for (size_t k = 0; units && k < json_count(units); k++) {
        const char *unit = json_string(json_at(units, k));
        if (unit && strcmp(unit, duration_unit(p->t.unit)) == 0) {
            free(b.data);
            return;
        }
        text_add(&b, "%s%s", k ? ", " : "", unit ? unit : "?");
    }
    if (units) {
        char text[320];
        (void)snprintf(text, sizeof text, "is \"%s\", want a time in %s", p->s,
                       b.data ? b.data : "");
        fault(s, v, text);
    }
    free(b.data);
}

static void read_text(source *s, const json_node *spec, const json_node *v, bool path,
                      tutti_param *p)
{
    const json_node *most = json_get(spec, "max_length");
    const char *text = json_string(v);
    p->type = path ? TUTTI_PARAM_PATH : TUTTI_PARAM_STRING;
    if (!text) {
        fault(s, v, path ? "want a path in quotes" : "want a text in quotes");
        return;
    }
    if (most && (int64_t)strlen(text) > json_int(most)) {
        fault(s, v, "is longer than the plugin allows");
        return;
    }
    if (path && *text != '/' && s->folder) {
        const size_t size = strlen(s->folder) + strlen(text) + 2;
        char *whole = malloc(size);
        if (whole)
            (void)snprintf(whole, size, "%s/%s", s->folder, text);
        p->s = whole;
    } else
        p->s = strdup(text);
    if (!p->s)
        fault(s, v, "out of memory");
}

static tutti_param *read_value(source *s, const json_node *spec, const json_node *v);

static void read_list(source *s, const json_node *spec, const json_node *v, tutti_param *p)
{
    const json_node *min = json_get(spec, "min_count"), *max = json_get(spec, "max_count");
    const size_t n = json_count(v);
    char text[160];
    p->type = TUTTI_PARAM_LIST;
    if (json_type(v) != JSON_ARRAY) {
        fault(s, v, "want an array");
        return;
    }
    if ((min && (int64_t)n < json_int(min)) || (max && (int64_t)n > json_int(max))) {
        (void)snprintf(text, sizeof text, "has %zu entries, want %lld to %lld", n,
                       (long long)(min ? json_int(min) : 0),
                       (long long)(max ? json_int(max) : INT64_MAX));
        fault(s, v, text);
        return;
    }
    const tutti_param **items = calloc(n + 1, sizeof *items);
    if (!items) {
        fault(s, v, "out of memory");
        return;
    }
    p->items = items;
    for (size_t k = 0; k < n; k++) {
        items[k] = read_value(s, json_get(spec, "items"), json_at(v, k));
        if (!items[k])
            return;
        p->count = k + 1;
    }
}

static tutti_param *read_value(source *s, const json_node *spec, const json_node *v)
{
    tutti_param *p = calloc(1, sizeof *p);
    if (!p) {
        fault(s, v, "out of memory");
        return NULL;
    }
    p->struct_size = sizeof *p;
    const char *type = json_string(json_get(spec, "type"));
    if (json_type(v) == JSON_NULL) {
        p->type = TUTTI_PARAM_NULL;
        if (!json_bool(json_get(spec, "nullable")))
            fault(s, v, "may not be null");
    } else if (strcmp(type, "bool") == 0) {
        p->type = TUTTI_PARAM_BOOL;
        p->i = json_bool(v);
        if (json_type(v) != JSON_BOOL)
            fault(s, v, "want true or false");
    } else if (strcmp(type, "int") == 0 || strcmp(type, "float") == 0)
        read_number(s, spec, v, *type == 'i', p);
    else if (strcmp(type, "enum") == 0)
        read_enum(s, spec, v, p);
    else if (strcmp(type, "time") == 0)
        read_time(s, spec, v, p);
    else if (strcmp(type, "list") == 0)
        read_list(s, spec, v, p);
    else
        read_text(s, spec, v, strcmp(type, "path") == 0, p);
    return p;
}

static bool skipped(const char *const *skip, const char *key)
{
    for (size_t k = 0; skip && skip[k]; k++)
        if (strcmp(skip[k], key) == 0)
            return true;
    return false;
}

static void check_unknown(const object *o, const json_node *given, const char *const *skip,
                          source *s)
{
    const json_node *specs = o->info.params;
    const size_t n = json_count(specs);
    const char **names = calloc(n + 1, sizeof *names);
    for (size_t k = 0; names && specs && k < n; k++)
        names[k] = json_key(json_at(specs, k));
    for (size_t k = 0; given && k < json_count(given); k++) {
        const json_node *v = json_at(given, k);
        if (skipped(skip, json_key(v)) || (specs && json_get(specs, json_key(v))))
            continue;
        const char *near = names ? nearest_word(json_key(v), names) : NULL;
        char text[240];
        (void)snprintf(text, sizeof text, "%s %s has no setting of this name%s%s%s",
                       o->info.kind, o->info.name, near ? "; did you mean " : "",
                       near ? near : "", near ? "?" : "");
        fault(s, v, text);
    }
    free((void *)names);
}

static tutti_params *params_make(size_t n)
{
    tutti_params *p = calloc(1, sizeof *p);
    const tutti_param **items = calloc(n + 1, sizeof *items);
    if (!p || !items) {
        free(p);
        free((void *)items);
        return NULL;
    }
    p->struct_size = sizeof *p;
    p->items = items;
    return p;
}

tutti_params *params_from_json(const object *o, const json_node *given, const char *const *skip,
                               const char *folder, faults *f)
{
    const json_node *specs = o->info.params;
    const size_t n = specs ? json_count(specs) : 0;
    source s = {given, folder, f, false};
    tutti_params *ret = params_make(n);
    if (!ret) {
        faults_add(f, given, "out of memory");
        return NULL;
    }
    const tutti_param **items = (const tutti_param **)(uintptr_t)ret->items;
    check_unknown(o, given, skip, &s);
    for (size_t k = 0; k < n; k++) {
        const json_node *spec = json_at(specs, k);
        const json_node *v = given ? json_get(given, json_key(spec)) : NULL;
        tutti_param *p = NULL;
        if (v || json_get(spec, "default"))
            p = read_value(&s, spec, v ? v : json_get(spec, "default"));
        else if (json_bool(json_get(spec, "required"))) {
            char text[200];
            (void)snprintf(text, sizeof text, "%s %s needs the setting %s", o->info.kind,
                           o->info.name, json_key(spec));
            fault(&s, given, text);
        }
        if (!p && (p = calloc(1, sizeof *p)))
            p->struct_size = sizeof *p; /* null */
        if (!p || !(p->name = strdup(json_key(spec)))) {
            param_free(p);
            fault(&s, given, "out of memory");
            break;
        }
        items[ret->count++] = p;
    }
    if (!s.failed)
        return ret;
    params_free(ret);
    return NULL;
}

/* ---- attributes ---- */

static void add_attr(text_buffer *b, const tutti_attr *a, const json_node *spec)
{
    const char *type = spec ? json_string(json_get(spec, "type")) : "";
    char real[TEXT_REAL_SIZE];
    text_add_quoted(b, a->name);
    if (a->type == TUTTI_ATTR_LIST) {
        text_add(b, ":[");
        for (uint32_t k = 0; k < a->count; k++)
            text_add(b, "%s%lld", k ? "," : "", (long long)a->list[k]);
        text_add(b, "]");
    } else if (a->type == TUTTI_ATTR_F64)
        text_add(b, ":%s", text_real(a->f, real));
    else if (strcmp(type, "bool") == 0)
        text_add(b, ":%s", a->i ? "true" : "false");
    else if (strcmp(type, "enum") == 0) { /* by its index */
        const json_node *word = json_at(json_get(spec, "values"), (size_t)a->i);
        text_add(b, ":");
        text_add_quoted(b, word ? json_string(word) : "?");
    } else
        text_add(b, ":%lld", (long long)a->i);
}

tutti_status params_from_attrs(const object *o, const void *attrs, uint32_t nattrs,
                               tutti_params **ret_params, tutti_error *err)
{
    const tutti_attr *a = attrs;
    text_buffer b = {0};
    json_doc *doc = NULL;
    faults *f = faults_create();
    tutti_status s = f ? TUTTI_OK : TUTTI_E_NOMEM;
    text_add(&b, "{");
    for (uint32_t k = 0; k < nattrs; k++) {
        text_add(&b, "%s", k ? "," : "");
        add_attr(&b, &a[k], o->info.params ? json_get(o->info.params, a[k].name) : NULL);
    }
    text_add(&b, "}");
    if (s || b.failed)
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its settings", o->info.name);
    else if ((s = json_parse(o->info.name, b.data, b.size, &doc, err)) == TUTTI_OK) {
        tutti_params *p = params_from_json(o, json_root(doc), NULL, NULL, f);
        if (p)
            *ret_params = p;
        else
            s = tutti_fail(err, TUTTI_E_ARG, "%s", faults_count(f) ? faults_text(f, 0) : "?");
    }
    json_free(doc);
    free(b.data);
    faults_destroy(f);
    return s;
}

/* ---- text ---- */

static void add_param(text_buffer *b, const tutti_param *p)
{
    char real[TEXT_REAL_SIZE];
    switch (p->type) {
    case TUTTI_PARAM_BOOL:
        text_add(b, "%s", p->i ? "true" : "false");
        return;
    case TUTTI_PARAM_INT:
        text_add(b, "%lld", (long long)p->i);
        return;
    case TUTTI_PARAM_FLOAT:
        text_add(b, "%s", text_real(p->f, real));
        return;
    case TUTTI_PARAM_LIST:
        text_add(b, "[");
        for (uint64_t k = 0; k < p->count; k++) {
            text_add(b, "%s", k ? "," : "");
            add_param(b, p->items[k]);
        }
        text_add(b, "]");
        return;
    case TUTTI_PARAM_NULL:
        text_add(b, "null");
        return;
    default:
        text_add_quoted(b, p->s ? p->s : "");
    }
}

char *params_text(const tutti_params *p)
{
    text_buffer b = {0};
    text_add(&b, "{");
    for (uint32_t k = 0; p && k < p->count; k++) {
        text_add(&b, "%s", k ? "," : "");
        text_add_quoted(&b, p->items[k]->name);
        text_add(&b, ":");
        add_param(&b, p->items[k]);
    }
    text_add(&b, "}");
    if (!b.failed)
        return b.data;
    free(b.data);
    return NULL;
}
