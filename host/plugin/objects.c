/* objects.c - the objects of a manifest: kind, events, order, settings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"
#include "plugin/plugin.h"
#include "plugin/spec.h"
#include "plugin/when.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
    TUTTI_KIND_ALGORITHM, TUTTI_KIND_CALLBACK,  TUTTI_KIND_LOGGER,    TUTTI_KIND_PASS,
    TUTTI_KIND_MODEL,     TUTTI_KIND_LAYER,     TUTTI_KIND_OP,        TUTTI_KIND_DATASET,
    TUTTI_KIND_TRANSFORM, TUTTI_KIND_OPTIMIZER, TUTTI_KIND_SCHEDULER, TUTTI_KIND_METRIC,
    TUTTI_KIND_DEVICE,    TUTTI_KIND_COMM,      TUTTI_KIND_LOSS,      NULL};

static const char *const traits[] = {"find_unused_parameters", "backwards_create_graph",
                                     "interpolate_loss",       "required_on_load",
                                     "wraps_optimizer",        NULL};

static bool is_among(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static void refuse_word(const json_node *at, const char *word, const char *what,
                        const char *const *words, faults *f)
{
    faults_add_word(f, at, word, "\"%s\" is no %s%s", word, what,
                    suggest_word(word, words).text);
}

/* [a-z][a-z0-9_]* */
static bool is_name(const char *name)
{
    return name[0] >= 'a' && name[0] <= 'z' && strlen(name) <= 63 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static bool hears_events(const char *kind)
{
    return strcmp(kind, TUTTI_KIND_ALGORITHM) == 0 || strcmp(kind, TUTTI_KIND_CALLBACK) == 0 ||
           strcmp(kind, TUTTI_KIND_LOGGER) == 0 || strcmp(kind, TUTTI_KIND_PASS) == 0;
}

const char *manifest_heard(const json_node *node, bool *ret_optional)
{
    *ret_optional = json_bool(json_get(node, "optional"));
    return json_type(node) == JSON_OBJECT ? json_string(json_get(node, "name"))
                                          : json_string(node);
}

static const json_member event_rows[] = {
    {.name = "name", .type = MEMBER_STRING, .flags = MEMBER_REQUIRED},
    {.name = "optional", .type = MEMBER_BOOL},
    {.name = "when"},
    {.name = NULL},
};

static void read_event(const json_node *list, size_t k, faults *f)
{
    const json_node *node = json_at(list, k);
    bool optional;
    const char *name = manifest_heard(node, &optional);
    if (json_type(node) == JSON_OBJECT)
        (void)json_object_read(node, "an object", event_rows, NULL, f);
    else if (!name || !*name)
        faults_add(f, node, "want a string that is not empty");
    for (size_t m = 0; m < k && name && *name; m++) {
        const char *other = manifest_heard(json_at(list, m), &optional);
        if (other && strcmp(other, name) == 0)
            faults_add(f, node, "\"%s\" is there twice", name);
    }
}

static void read_events(object *o, const json_node *list, faults *f)
{
    const size_t before = faults_count(f);
    if (!list)
        return;
    for (size_t k = 0; k < json_count(list); k++)
        read_event(list, k, f);
    if (!json_count(list))
        faults_add(f, list, "is empty");
    if (faults_count(f) > before)
        return;
    o->event_names = list;
    if (o->info.kind && !hears_events(o->info.kind))
        faults_add(f, list, "an object of kind %s hears no events", o->info.kind);
    o->event_ids = calloc(json_count(list), sizeof *o->event_ids);
    o->events = calloc(json_count(list), sizeof *o->events);
    if (!o->event_ids || !o->events)
        faults_add_no_memory(f, list);
}

static const json_member order_rows[] = {
    {.name = "first", .type = MEMBER_BOOL},
    {.name = "last", .type = MEMBER_BOOL},
    {.name = "before", .type = MEMBER_WORDS},
    {.name = "after", .type = MEMBER_WORDS},
    {.name = "exclusive", .type = MEMBER_WORDS},
    {.name = "reverse_on", .type = MEMBER_WORDS},
    {.name = NULL},
};

static void read_params(object *o, const json_node *params, faults *f)
{
    if (!params || !json_count(params)) {
        o->info.params = params;
        return;
    }
    o->specs = calloc(json_count(params), sizeof *o->specs);
    if (!o->specs) {
        faults_add_no_memory(f, params);
        return;
    }
    o->info.params = params;
    o->nspecs = json_count(params);
    for (size_t k = 0; k < o->nspecs; k++) {
        const json_node *one = json_at(params, k);
        if (!is_name(json_key(one)) || strcmp(json_key(one), "name") == 0 ||
            strcmp(json_key(one), "id") == 0)
            faults_add(f, one,
                       "want a letter and then letters, digits and _ in lower case, and "
                       "neither \"name\" nor \"id\"");
        spec_read(&o->specs[k], one, false, f);
    }
}

static const char *const on_errors[] = {[ON_ERROR_STOP] = "stop",
                                        [ON_ERROR_DISABLE] = "disable",
                                        [ON_ERROR_IGNORE] = "ignore",
                                        NULL};

static const json_member info_rows[] = {
    {.name = "name",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     .fits = is_name,
     .want = "a letter and then letters, digits and _ in lower case",
     MEMBER_AT(object_info, name)},
    {.name = "kind",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(object_info, kind)},
    {.name = "doc",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(object_info, doc)},
    {.name = "index", .type = MEMBER_INT, MEMBER_AT(object_info, index)},
    {.name = "on_error",
     .type = MEMBER_CHOICE,
     .words = on_errors,
     MEMBER_AT(object_info, on_error)},
    {.name = NULL},
};

/* What is read further. */
typedef struct object_parts {
    const json_node *events;
    const json_node *tags;
    const json_node *traits;
    const json_node *order;
    const json_node *params;
} object_parts;

static const json_member part_rows[] = {
    {.name = "events", .type = MEMBER_ARRAY, MEMBER_AT(object_parts, events)},
    {.name = "tags", .type = MEMBER_WORDS, MEMBER_AT(object_parts, tags)},
    {.name = "traits", .type = MEMBER_WORDS, MEMBER_AT(object_parts, traits)},
    {.name = "order", .type = MEMBER_OBJECT, MEMBER_AT(object_parts, order)},
    {.name = "params", .type = MEMBER_OBJECT, MEMBER_AT(object_parts, params)},
    {.name = NULL},
};

static void read_object(object *o, const json_node *node, faults *f)
{
    static const json_member *const tables[] = {info_rows, part_rows, NULL};
    object_parts parts = {0};
    if (!json_want(node, JSON_OBJECT, "an object", f))
        return;
    json_members_known(node, tables, f);
    o->info.index = -1;
    json_members_read(node, info_rows, &o->info, f);
    json_members_read(node, part_rows, &parts, f);
    if (o->info.kind && !is_among(o->info.kind, kinds)) {
        refuse_word(json_get(node, "kind"), o->info.kind, "kind of object", kinds, f);
        o->info.kind = NULL;
    }
    read_events(o, parts.events, f);
    o->info.tags = json_words(parts.tags, f);
    o->info.traits = json_words(parts.traits, f);
    for (size_t k = 0; o->info.traits && o->info.traits[k]; k++)
        if (!is_among(o->info.traits[k], traits))
            refuse_word(json_at(parts.traits, k), o->info.traits[k], "trait", traits, f);
    o->info.order = parts.order;
    if (parts.order)
        (void)json_object_read(parts.order, "an object", order_rows, NULL, f);
    read_params(o, parts.params, f);
    for (size_t k = 0; k < json_count(o->event_names); k++)
        when_read(json_at(o->event_names, k), o, f);
}

/* Whether an object is of a kind that a newer format brought: told, and left alone. */
static bool is_later(const json_node *node, faults *f)
{
    const char *kind = json_string(json_get(node, "kind"));
    if (!kind || is_among(kind, kinds) || !faults_lenient(f))
        return false;
    refuse_word(json_get(node, "kind"), kind, "kind of object", kinds, f);
    return true;
}

void objects_read(plugin *p, const json_node *list, faults *f)
{
    const size_t count = json_count(list);
    if (!count) {
        if (!p->nkernels) /* functions alone are a plugin too */
            faults_add(f, list, "is empty, want at least one object");
        return;
    }
    p->objects = calloc(count, sizeof *p->objects);
    p->object_list = calloc(count + 1, sizeof(const object *));
    p->declared.later = calloc(count, sizeof *p->declared.later);
    if (!p->objects || !p->object_list || !p->declared.later) {
        faults_add_no_memory(f, list);
        return;
    }
    for (size_t k = 0; k < count; k++) {
        object *o = &p->objects[p->nobjects];
        o->plugin = p;
        o->info.plugin_id = p->id;
        o->info.plugin_version = p->version;
        o->info.manifest = p->manifest;
        if (is_later(json_at(list, k), f)) {
            p->declared.later[p->declared.nlater++] = json_at(list, k);
            continue;
        }
        p->nobjects++;
        read_object(o, json_at(list, k), f);
        p->object_list[p->nobjects - 1] = o;
        for (size_t m = 0; m + 1 < p->nobjects; m++) {
            const object_info *a = &p->objects[m].info, *b = &o->info;
            if (a->name && b->name && a->kind && b->kind && strcmp(a->name, b->name) == 0 &&
                strcmp(a->kind, b->kind) == 0)
                faults_add(f, json_at(list, k), "there are two objects of kind %s called %s",
                           b->kind, b->name);
        }
    }
}

void objects_free(plugin *p)
{
    for (size_t k = 0; k < p->nobjects; k++) {
        object *o = &p->objects[k];
        for (size_t m = 0; m < o->nspecs; m++)
            spec_fini(&o->specs[m]);
        free(o->specs);
        free(o->event_ids);
        free((void *)o->events);
        free((void *)o->info.tags);
        free((void *)o->info.traits);
    }
    free(p->objects);
    free(p->object_list);
    free(p->declared.later);
}
