/* run_published.c - what the folder of a published model says: the file of its weights, and settings by its config.json. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CONFIG_LIMIT = 1 << 20, LONGEST_PATH = 4096 };

static bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static bool is_file(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* A copy of `path`, the caller's; NULL after a fault. */
static char *copy_of(const char *path, const json_node *at, faults *f)
{
    char *copy = strdup(path);
    if (!copy)
        faults_add_no_memory(f, at);
    return copy;
}

char *published_weights(const char *path, const json_node *at, faults *f)
{
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json"};
    if (!is_folder(path))
        return copy_of(path, at, f);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char one[LONGEST_PATH];
        (void)snprintf(one, sizeof one, "%s/%s", path, names[k]);
        if (is_file(one))
            return copy_of(one, at, f);
    }
    faults_add(f, at, "is the folder %s, which has neither %s nor %s", path, names[0],
               names[1]);
    return NULL;
}

/* ---- settings ---- */

/* A model's settings on their way from a config.json into a run. */
typedef struct published {
    json_doc *run;
    const char *path;      /* of the config.json */
    const char *model;     /* the object's name */
    const json_node *says; /* what the plugin says of it */
    const json_node *config;
    const json_node *where; /* of the run: faults are told there */
    faults *faults;
} published;

const json_node *published_member(const json_node *node, const char *path)
{
    char part[128];
    while (node && *path) {
        const size_t size = strcspn(path, ".");
        (void)snprintf(part, sizeof part, "%.*s", (int)size, path);
        node = json_get(node, part);
        path += size + (path[size] == '.');
    }
    return !node || json_type(node) == JSON_NULL ? NULL : node;
}

/* Gives the model a setting that the run does not. */
static void set(const published *p, const char *name, const json_node *value)
{
    char path[160];
    tutti_error e = TUTTI_ERROR_INIT;
    if (json_get(json_get(json_root(p->run), "model"), name))
        return;
    char *text = json_text(value);
    (void)snprintf(path, sizeof path, "model.%s", name);
    if (!text)
        faults_add_no_memory(p->faults, p->where);
    else if (json_override(p->run, path, text, &e))
        faults_add(p->faults, p->where, "%s: %s", p->path, e.text);
    free(text);
}

/* Those of a case. */
static void set_all(const published *p, const json_node *settings)
{
    for (size_t k = 0; k < json_count(settings); k++)
        set(p, json_key(json_at(settings, k)), json_at(settings, k));
}

/* Whether `value` is one of a list. */
static bool is_one_of(const json_node *value, const json_node *list)
{
    char *text = json_text(value);
    bool found = false;
    for (size_t k = 0; text && k < json_count(list) && !found; k++) {
        char *other = json_text(json_at(list, k));
        found = other && strcmp(text, other) == 0;
        free(other);
    }
    free(text);
    return found;
}

/* A fault for each member of "wants" that the config has with another value: what the model does not know. */
static void check_wants(const published *p)
{
    const json_node *wants = json_get(p->says, "wants");
    for (size_t k = 0; k < json_count(wants); k++) {
        const json_node *list = json_at(wants, k);
        const json_node *value = published_member(p->config, json_key(list));
        if (!value || is_one_of(value, list))
            continue;
        char *have = json_text(value), *want = json_text(list);
        faults_add(p->faults, p->where, "%s: %s is %s, of which the model %s knows %s%s",
                   p->path, json_key(list), have ? have : "?", p->model,
                   json_count(list) ? "only " : "nothing",
                   json_count(list) && want ? want : "");
        free(have);
        free(want);
    }
}

/* The settings that go with the config's model_type; NULL after a fault. */
static const json_node *type_of(const published *p)
{
    const json_node *types = json_get(p->says, "model_types");
    const char *type = json_string(json_get(p->config, "model_type"));
    const json_node *found = type ? json_get(types, type) : NULL;
    char known[256] = "";
    for (size_t k = 0, used = 0; k < json_count(types) && used < sizeof known; k++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", k ? ", " : "",
                                 json_key(json_at(types, k)));
    if (!found)
        faults_add(p->faults, p->where, "%s: model_type is %s, the model %s reads %s", p->path,
                   type ? type : "missing", p->model, known);
    return found;
}

/* Whether the config has, of each member of "if", one of the values. */
static bool case_holds(const published *p, const json_node *one)
{
    const json_node *tests = json_get(one, "if");
    for (size_t k = 0; k < json_count(tests); k++) {
        const json_node *value = published_member(p->config, json_key(json_at(tests, k)));
        if (!value || !is_one_of(value, json_at(tests, k)))
            return false;
    }
    return true;
}

static void take_settings(const published *p)
{
    const json_node *settings = json_get(p->says, "settings"), *type = type_of(p);
    if (!type)
        return;
    check_wants(p);
    set_all(p, type);
    for (size_t k = 0; k < json_count(json_get(p->says, "cases")); k++) {
        const json_node *one = json_at(json_get(p->says, "cases"), k);
        if (case_holds(p, one))
            set_all(p, json_get(one, "settings"));
    }
    for (size_t k = 0; k < json_count(settings); k++) {
        const json_node *sources = json_at(settings, k), *value = NULL;
        for (size_t s = 0; s < json_count(sources) && !value; s++)
            value = published_member(p->config, json_string(json_at(sources, s)));
        if (value)
            set(p, json_key(sources), value);
    }
}

void published_apply(json_doc *run, const published_config *c, faults *f)
{
    const published p = {.run = run,
                         .path = c->path,
                         .model = object_describe(c->o)->name,
                         .says = c->says,
                         .config = c->config,
                         .where = c->at,
                         .faults = f};
    take_settings(&p);
}

const json_node *published_table(const object *o, json_doc **ret_doc, faults *f)
{
    char path[LONGEST_PATH];
    tutti_error e = TUTTI_ERROR_INIT;
    const char *manifest = object_describe(o)->manifest;
    const char *slash = strrchr(manifest, '/');
    (void)snprintf(path, sizeof path, "%.*spublished.json",
                   slash ? (int)(slash - manifest + 1) : 0, manifest);
    *ret_doc = NULL;
    if (is_file(path) && json_read(path, CONFIG_LIMIT, ret_doc, &e))
        faults_add(f, NULL, "%s", e.text);
    return *ret_doc ? json_get(json_root(*ret_doc), object_describe(o)->name) : NULL;
}

const json_node *published_names(const object *o, json_doc **ret_doc, faults *f)
{
    return json_get(published_table(o, ret_doc, f), "names");
}

void published_settings(json_doc *run, registry *r, const char *folder, faults *f)
{
    const json_node *root = json_root(run), *at = json_get(root, "load_weights");
    const char *given = json_string(at);
    const char *name = json_string(json_get(json_get(root, "model"), "name"));
    const object *o = NULL;
    char path[LONGEST_PATH];
    json_doc *says = NULL, *config = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    if (!given || !name)
        return;
    (void)snprintf(path, sizeof path, "%s%s%s/config.json", *given == '/' ? "" : folder,
                   *given == '/' ? "" : "/", given);
    if (!is_file(path) || registry_find(r, TUTTI_KIND_MODEL, name, &o, &e))
        return; /* an unknown model is told where it is read */
    const json_node *table = published_table(o, &says, f);
    if (table && json_read(path, CONFIG_LIMIT, &config, &e)) {
        faults_add(f, at, "%s", e.text);
    } else if (table) {
        const published_config c = {o, table, json_root(config), path, at};
        published_apply(run, &c, f);
    }
    json_free(config);
    json_free(says);
}

/* Whether it says so; a file that cannot be read says nothing, and `why` tells. */
static bool reads_type(const object *o, const char *model_type, char *why, size_t size)
{
    json_doc *doc = NULL;
    faults *f = faults_create();
    const json_node *says = f ? published_table(o, &doc, f) : NULL;
    const bool reads = json_get(json_get(says, "model_types"), model_type) != NULL;
    if (!*why && (!f || faults_count(f)))
        (void)snprintf(why, size, "%s", f ? faults_text(f, 0) : "no memory to ask a model");
    json_free(doc);
    faults_destroy(f);
    return reads;
}

const object *published_model(const registry *r, const char *model_type, char *why, size_t size)
{
    char found[512] = "";
    for (size_t k = 0; k < registry_plugin_count(r); k++) {
        plugin_info p;
        registry_plugin(r, k, &p);
        if (p.fault && !*found)
            (void)snprintf(found, sizeof found, "%s: %s", p.id ? p.id : p.folder, p.fault);
        for (size_t n = 0; !p.fault && n < p.nobjects; n++)
            if (strcmp(object_describe(p.objects[n])->kind, TUTTI_KIND_MODEL) == 0 &&
                reads_type(p.objects[n], model_type, found, sizeof found))
                return p.objects[n];
    }
    if (*found)
        (void)snprintf(why, size, "%s", found);
    return NULL;
}
