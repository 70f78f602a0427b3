/* manifest.c - plugin.json: read strictly, so that a typing error is not a silent default. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/duration.h"
#include "plugin/plugin_internal.h"

#include <stdlib.h>
#include <string.h>

/* A key that may stand in an object of the manifest. */
typedef struct key {
    const char *name;
    int type; /* JSON_*; ANY for any */
    bool required;
} key;

enum { ANY = -1 };

/* Text "file:line: path: " of a node, for messages. */
static const char *place(const json_node *n, char *text, size_t size)
{
    (void)snprintf(text, size, "%s:%d: %s%s", json_name(n), json_line(n), json_path(n),
                   *json_path(n) ? ": " : "");
    return text;
}

static tutti_status bad(const json_node *n, const char *what, tutti_error *err)
{
    char at[300];
    return tutti_fail(err, TUTTI_E_FORMAT, "%s%s", place(n, at, sizeof at), what);
}

static const char *type_word(int type)
{
    static const char *const words[] = {"null",     "true or false", "a whole number",
                                        "a number", "a string",      "an array",
                                        "an object"};
    return words[type];
}

/* Known keys only, of their types, none missing. */
static tutti_status check_object(const json_node *n, const key *keys, size_t nkeys,
                                 tutti_error *err)
{
    char at[300];
    const char *names[40] = {NULL};
    if (json_type(n) != JSON_OBJECT)
        return tutti_fail(err, TUTTI_E_FORMAT, "%sis %s, want an object",
                          place(n, at, sizeof at), json_type_name(n));
    for (size_t k = 0; k < nkeys; k++) {
        names[k] = keys[k].name;
        const json_node *m = json_get(n, keys[k].name);
        if (!m && keys[k].required)
            return tutti_fail(err, TUTTI_E_FORMAT, "%shas no \"%s\"", place(n, at, sizeof at),
                              keys[k].name);
        const bool fits = !m || keys[k].type == ANY || json_type(m) == keys[k].type ||
                          (keys[k].type == JSON_REAL && json_type(m) == JSON_INT);
        if (!fits)
            return tutti_fail(err, TUTTI_E_FORMAT, "%sis %s, want %s", place(m, at, sizeof at),
                              json_type_name(m), type_word(keys[k].type));
    }
    for (size_t k = 0; k < json_count(n); k++) {
        const json_node *m = json_at(n, k);
        bool known = strncmp(json_key(m), "x-", 2) == 0;
        for (size_t j = 0; j < nkeys && !known; j++)
            known = strcmp(keys[j].name, json_key(m)) == 0;
        if (known)
            continue;
        const char *near = nearest_word(json_key(m), names);
        return tutti_fail(err, TUTTI_E_FORMAT, "%sunknown key%s%s%s", place(m, at, sizeof at),
                          near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    return TUTTI_OK;
}

/* "1.0" */
static bool read_version(const char *text, uint32_t *ret)
{
    unsigned major, minor;
    char end;
    if (!text || sscanf(text, "%u.%u%c", &major, &minor, &end) != 2 || major > 999 ||
        minor > 999)
        return false;
    *ret = TUTTI_ABI_VERSION(major, minor);
    return true;
}

static tutti_status read_abi(bundle *b, const json_node *root, tutti_error *err)
{
    static const key keys[] = {{"built", JSON_STRING, true}, {"min", JSON_STRING, true}};
    const json_node *abi = json_get(root, "abi");
    char at[300];
    const tutti_status s = check_object(abi, keys, 2, err);
    if (s)
        return s;
    if (!read_version(json_string(json_get(abi, "built")), &b->abi_built) ||
        !read_version(json_string(json_get(abi, "min")), &b->abi_min))
        return bad(abi, "want versions such as \"1.0\"", err);
    if (b->abi_built >> 16 != TUTTI_ABI >> 16)
        return tutti_fail(err, TUTTI_E_VERSION,
                          "%splugin ABI %u.%u is of another generation than the host's %u.%u",
                          place(abi, at, sizeof at), b->abi_built >> 16, b->abi_built & 0xFFFFu,
                          TUTTI_ABI >> 16, TUTTI_ABI & 0xFFFFu);
    if (b->abi_min > TUTTI_ABI)
        return tutti_fail(err, TUTTI_E_VERSION,
                          "%sneeds host ABI %u.%u or newer, this is %u.%u",
                          place(abi, at, sizeof at), b->abi_min >> 16, b->abi_min & 0xFFFFu,
                          TUTTI_ABI >> 16, TUTTI_ABI & 0xFFFFu);
    return TUTTI_OK;
}

static tutti_status read_library(bundle *b, const json_node *root, tutti_error *err)
{
    static const key keys[] = {{"path", JSON_STRING, true}, {"sha256", JSON_STRING, false}};
    const json_node *library = json_get(root, "library");
    const tutti_status s = check_object(library, keys, 2, err);
    if (s)
        return s;
    const json_node *path = json_get(library, "path");
    const char *text = json_string(path);
    for (const char *part = text; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return bad(path, "leads out of the plugin's folder with \"..\"", err);
    if (!*text || *text == '/')
        return bad(path, "want a path within the plugin's folder", err);
    const size_t size = strlen(b->folder) + strlen(text) + 2;
    b->library = malloc(size);
    if (!b->library)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", b->manifest);
    (void)snprintf(b->library, size, "%s/%s", b->folder, text);
    return TUTTI_OK;
}

static tutti_status read_words(const json_node *list, const char **words,
                               const char *const *known, tutti_error *err)
{
    if (!list)
        return TUTTI_OK;
    if (json_count(list) > MAX_WORDS)
        return bad(list, "has more than 64 entries", err);
    for (size_t k = 0; k < json_count(list); k++) {
        words[k] = json_string(json_at(list, k));
        bool fits = words[k] && *words[k];
        for (size_t j = 0; fits && known; j++) {
            if (!known[j])
                return bad(json_at(list, k), "is no trait that this host knows", err);
            if (strcmp(known[j], words[k]) == 0)
                break;
        }
        if (!fits)
            return bad(json_at(list, k), "want a string that is not empty", err);
    }
    return TUTTI_OK;
}

/* The table of events is the SDK's; the engine has its own look-up, above this folder. */
static int32_t find_event(const char *name)
{
#define TUTTI_X(event, value, canonical, side)                                                 \
    if (strcmp(name, value) == 0)                                                              \
        return TUTTI_EVENT_##event;
    TUTTI_COMPOSER_EVENTS(TUTTI_X)
#undef TUTTI_X
#define TUTTI_X(event, value, code)                                                            \
    if (strcmp(name, value) == 0)                                                              \
        return TUTTI_EVENT_##event;
    TUTTI_IGNITE_EVENTS(TUTTI_X)
#undef TUTTI_X
    return -1;
}

static tutti_status read_events(object *o, const json_node *list, tutti_error *err)
{
    if (list && json_count(list) > sizeof o->events / sizeof *o->events)
        return bad(list, "has more than 128 entries", err);
    for (size_t k = 0; list && k < json_count(list); k++) {
        const char *name = json_string(json_at(list, k));
        o->events[k] = name ? find_event(name) : -1;
        if (o->events[k] < 0)
            return bad(json_at(list, k), "is no event", err);
        o->info.nevents = k + 1;
    }
    o->info.events = o->events;
    return TUTTI_OK;
}

static tutti_status check_param(const json_node *p, bool item, tutti_error *err)
{
    static const key keys[] = {{"type", JSON_STRING, true},    {"default", ANY, false},
                               {"required", JSON_BOOL, false}, {"nullable", JSON_BOOL, false},
                               {"min", JSON_REAL, false},      {"max", JSON_REAL, false},
                               {"above", JSON_REAL, false},    {"below", JSON_REAL, false},
                               {"units", JSON_ARRAY, false},   {"values", JSON_ARRAY, false},
                               {"items", JSON_OBJECT, false},  {"min_count", JSON_INT, false},
                               {"max_count", JSON_INT, false}, {"max_length", JSON_INT, false},
                               {"unit", JSON_STRING, false},   {"doc", JSON_STRING, false}};
    static const char *const types[] = {"bool", "int",  "float", "string", "enum",
                                        "time", "path", "list",  NULL};
    tutti_status s = check_object(p, keys, sizeof keys / sizeof *keys, err);
    if (s)
        return s;
    const char *type = json_string(json_get(p, "type"));
    size_t k = 0;
    while (types[k] && strcmp(types[k], type) != 0)
        k++;
    if (!types[k])
        return bad(json_get(p, "type"),
                   "want bool, int, float, string, enum, time, path or list", err);
    if (strcmp(type, "enum") == 0 && !json_get(p, "values"))
        return bad(p, "an enum needs \"values\"", err);
    if (strcmp(type, "list") == 0) {
        if (!json_get(p, "items"))
            return bad(p, "a list needs \"items\"", err);
        if ((s = check_param(json_get(p, "items"), true, err)))
            return s;
    }
    if (!item && !json_get(p, "default") && !json_bool(json_get(p, "required")) &&
        !json_bool(json_get(p, "nullable")))
        return bad(p, "has no default and is neither required nor nullable", err);
    return TUTTI_OK;
}

static tutti_status read_object(bundle *b, object *o, const json_node *n, tutti_error *err)
{
    static const key keys[] = {{"name", JSON_STRING, true},      {"kind", JSON_STRING, true},
                               {"doc", JSON_STRING, false},      {"events", JSON_ARRAY, false},
                               {"tags", JSON_ARRAY, false},      {"traits", JSON_ARRAY, false},
                               {"params", JSON_OBJECT, false},   {"order", JSON_OBJECT, false},
                               {"on_error", JSON_STRING, false}, {"index", JSON_INT, false}};
    static const key order_keys[] = {
        {"first", JSON_BOOL, false},       {"last", JSON_BOOL, false},
        {"before", JSON_ARRAY, false},     {"after", JSON_ARRAY, false},
        {"reverse_on", JSON_ARRAY, false}, {"exclusive", JSON_ARRAY, false}};
    static const char *const kinds[] = {
        "algorithm", "callback",  "logger",    "pass",   "model", "layer",  "op", "dataset",
        "transform", "optimizer", "scheduler", "metric", "comm",  "device", NULL};
    static const char *const traits[] = {"find_unused_parameters", "interpolate_loss",
                                         "backwards_create_graph", "required_on_load", NULL};
    static const char *const errors[] = {"stop", "disable", "ignore", NULL};
    tutti_status s = check_object(n, keys, sizeof keys / sizeof *keys, err);
    if (s)
        return s;
    o->bundle = b;
    o->info.name = json_string(json_get(n, "name"));
    o->info.doc = json_string(json_get(n, "doc"));
    o->info.plugin_id = b->id;
    o->info.plugin_version = b->version;
    o->info.manifest = b->manifest;
    o->info.tags = o->tags;
    o->info.traits = o->traits;
    o->info.order = json_get(n, "order");
    o->info.params = json_get(n, "params");
    o->info.index = json_get(n, "index") ? (int)json_int(json_get(n, "index")) : -1;
    const char *kind = json_string(json_get(n, "kind"));
    for (size_t k = 0; kinds[k]; k++)
        if (strcmp(kinds[k], kind) == 0)
            o->info.kind = kinds[k];
    if (!o->info.kind)
        return bad(json_get(n, "kind"), "is no kind of object that this host knows", err);
    if (!*o->info.name ||
        strspn(o->info.name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(o->info.name))
        return bad(json_get(n, "name"), "want lower-case letters, digits and underscores", err);
    if (json_get(n, "on_error")) {
        const char *text = json_string(json_get(n, "on_error"));
        int found = -1;
        for (int k = 0; errors[k]; k++)
            if (strcmp(errors[k], text) == 0)
                found = k;
        if (found < 0)
            return bad(json_get(n, "on_error"), "want stop, disable or ignore", err);
        o->info.on_error = found;
    }
    if (o->info.order && (s = check_object(o->info.order, order_keys, 6, err)))
        return s;
    for (size_t k = 0; o->info.params && k < json_count(o->info.params); k++)
        if ((s = check_param(json_at(o->info.params, k), false, err)))
            return s;
    if ((s = read_words(json_get(n, "tags"), o->tags, NULL, err)) ||
        (s = read_words(json_get(n, "traits"), o->traits, traits, err)))
        return s;
    return read_events(o, json_get(n, "events"), err);
}

static tutti_status read_root(bundle *b, const json_node *root, tutti_error *err)
{
    static const key keys[] = {
        {"format", JSON_STRING, true},   {"id", JSON_STRING, true},
        {"version", JSON_STRING, true},  {"license", JSON_STRING, true},
        {"vendor", JSON_STRING, false},  {"url", JSON_STRING, false},
        {"abi", JSON_OBJECT, true},      {"library", JSON_OBJECT, true},
        {"objects", JSON_ARRAY, true},   {"kernels", JSON_ARRAY, false},
        {"handlers", JSON_ARRAY, false}, {"events", JSON_ARRAY, false},
        {"requires", JSON_ARRAY, false}, {"conflicts", JSON_ARRAY, false}};
    uint32_t format;
    tutti_status s = check_object(root, keys, sizeof keys / sizeof *keys, err);
    if (s)
        return s;
    if (!read_version(json_string(json_get(root, "format")), &format) || format >> 16 != 1)
        return bad(json_get(root, "format"), "want \"1.0\"", err);
    const char *id = json_string(json_get(root, "id"));
    if (strlen(id) < 3 || strlen(id) > 128 ||
        strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789.-_") != strlen(id))
        return bad(json_get(root, "id"), "want 3 to 128 of a-z, 0-9, dot, dash and underscore",
                   err);
    int used = 0;
    unsigned v[3];
    const char *version = json_string(json_get(root, "version"));
    if (sscanf(version, "%u.%u.%u%n", &v[0], &v[1], &v[2], &used) != 3 || strlen(version) > 32)
        return bad(json_get(root, "version"), "want a version such as \"1.0.0\"", err);
    b->id = id;
    b->version = version;
    b->license = json_string(json_get(root, "license"));
    return TUTTI_OK;
}

tutti_status manifest_read(bundle *b, tutti_error *err)
{
    tutti_status s = json_read(b->manifest, MANIFEST_LIMIT, &b->doc, err);
    if (s)
        return s;
    const json_node *root = json_root(b->doc);
    if ((s = read_root(b, root, err)) || (s = read_abi(b, root, err)) ||
        (s = read_library(b, root, err)))
        return s;
    const json_node *objects = json_get(root, "objects");
    const size_t n = json_count(objects);
    if (n == 0 || n > MAX_OBJECTS)
        return bad(objects, "want 1 to 256 objects", err);
    b->objects = calloc(n, sizeof *b->objects);
    b->list = calloc(n + 1, sizeof *b->list);
    if (!b->objects || !b->list)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", b->manifest);
    for (size_t k = 0; k < n; k++) {
        if ((s = read_object(b, &b->objects[k], json_at(objects, k), err)))
            return s;
        b->list[k] = &b->objects[k];
        for (size_t j = 0; j < k; j++)
            if (strcmp(b->objects[j].info.name, b->objects[k].info.name) == 0 &&
                b->objects[j].info.kind == b->objects[k].info.kind)
                return bad(json_at(objects, k), "there is another object of this name and kind",
                           err);
    }
    b->nobjects = n;
    return TUTTI_OK;
}

void bundle_fini(bundle *b)
{
    json_free(b->doc);
    free(b->folder);
    free(b->manifest);
    free(b->library);
    free(b->objects);
    free((void *)b->list);
    free(b->fault);
}
