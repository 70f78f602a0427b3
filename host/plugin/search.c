/* search.c - where plugins are looked for, and judging what is there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"
#include "base/text.h"
#include "plugin/registry_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct place_list {
    search_place *places;
    size_t count;
    bool failed;
} place_list;

static void add_place(place_list *l, int kind, const char *path, size_t size)
{
    if (!size || l->failed)
        return;
    for (size_t k = 0; k < l->count; k++)
        if (strlen(l->places[k].path) == size && memcmp(l->places[k].path, path, size) == 0) {
            if (l->places[k].kind == PLACE_STANDARD)
                l->places[k].kind = kind;
            return;
        }
    search_place *places = realloc(l->places, (l->count + 1) * sizeof *places);
    char *copy = places ? strndup(path, size) : NULL;
    if (places)
        l->places = places;
    if (!copy) {
        l->failed = true;
        return;
    }
    places[l->count++] = (search_place){copy, kind, REGISTRY_ABSENT};
}

/* Folders with colons between them. */
static void add_places(place_list *l, const char *paths)
{
    while (paths && *paths) {
        const size_t size = strcspn(paths, ":");
        add_place(l, PLACE_NAMED, paths, size);
        paths += size + (paths[size] == ':');
    }
}

static const char *get_env(const registry *r, int variable)
{
    const char *ignored;
    const char *text = env_get(variable, &ignored);
    if (ignored)
        registry_report(r, TUTTI_LOG_WARNING, "%s is ignored in a set-uid program", ignored);
    return text;
}

static void add_standard(const registry *r, place_list *l)
{
    char path[PATH_MAX];
    const char *data = get_env(r, ENV_DATA_HOME);
    const char *home = data ? NULL : get_env(r, ENV_HOME);
    if (data || home) {
        const int size = snprintf(path, sizeof path, "%s%s/tutti/plugins", data ? data : home,
                                  data ? "" : "/.local/share");
        if (size < (int)sizeof path && path[0] == '/')
            add_place(l, PLACE_STANDARD, path, (size_t)size);
    }
    static const char *const system[] = {"/etc/tutti/plugins.d", "/usr/local/lib/tutti/plugins",
                                         "/usr/lib/tutti/plugins"};
    for (size_t k = 0; k < sizeof system / sizeof *system; k++)
        add_place(l, PLACE_STANDARD, system[k], strlen(system[k]));
    if (!*r->program.folder)
        return;
    /* bin/tutti has lib/ beside bin/, the build has it beside tutti. */
    const char *folder = r->program.folder;
    const int above = (int)(strrchr(folder, '/') - folder);
    for (int k = 0; k < 2; k++) {
        const int used = snprintf(path, sizeof path, "%.*s/lib/tutti/plugins",
                                  k ? (int)strlen(folder) : above, folder);
        if (used < (int)sizeof path)
            add_place(l, PLACE_BESIDE, path, (size_t)used);
    }
}

tutti_status search_places(registry *r, const char *const *plugin_paths, tutti_error *err)
{
    place_list l = {0};
    for (; plugin_paths && *plugin_paths; plugin_paths++)
        add_place(&l, PLACE_NAMED, *plugin_paths, strlen(*plugin_paths));
    add_places(&l, get_env(r, ENV_ADD_PATH));
    const char *only = get_env(r, ENV_PATH);
    if (only)
        add_places(&l, only);
    else
        add_standard(r, &l);
    if (l.failed) {
        search_free(l.places, l.count);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the plugin search path");
    }
    r->places = l.places;
    r->nplaces = l.count;
    return TUTTI_OK;
}

void search_free(search_place *places, size_t count)
{
    for (size_t k = 0; k < count; k++)
        free(places[k].path);
    free(places);
}

/* Several faults become one sentence, so that the list of plugins has them all. */
static void keep_faults(plugin *p, const faults *f)
{
    text_buffer b = {0};
    for (size_t k = 0; k < faults_count(f); k++)
        text_add(&b, "%s%s", k ? "\n" : "", faults_text(f, k));
    plugin_fault(p, TUTTI_LOG_WARNING,
                 b.failed || faults_lack_memory(f) ? TUTTI_E_NOMEM : TUTTI_E_FORMAT,
                 b.data ? b.data : "out of memory");
    free(b.data);
}

static tutti_status parse_manifest(plugin *p, const held *manifest, tutti_error *err)
{
    bytes b = {.fd = -1};
    tutti_status status = bytes_read(manifest, MANIFEST_LIMIT, &b, err);
    if (!status)
        status = json_parse(p->manifest, (const char *)b.data, b.size, &p->doc, err);
    if (!status)
        status = admit(p, p->manifest, &b, NULL, err);
    bytes_free(&b);
    return status;
}

static tutti_status judge_files(plugin *p, const held *folder, tutti_error *err)
{
    tutti_status status = library_judge(p, folder, err);
    if (!status) {
        p->verdict.stage = STAGE_DEVICE_CODE;
        status = codes_judge(p, folder, err);
    }
    if (!status)
        p->verdict.stage = STAGE_LOAD;
    return status;
}

static tutti_status read_plugin(plugin *p, const held *folder, const held *manifest,
                                tutti_error *err)
{
    tutti_status status = authority_signature(p, folder, err);
    if (!status)
        status = parse_manifest(p, manifest, err);
    if (status)
        return status;
    faults *f = faults_create(), *notes = faults_create();
    if (!f || !notes) {
        faults_destroy(f);
        faults_destroy(notes);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to judge it", p->manifest);
    }
    manifest_read(p, f, notes);
    const bool good = faults_count(f) == 0;
    if (faults_lack_memory(notes))
        p->registry->lacks_memory = true;
    if (!good)
        keep_faults(p, f);
    for (size_t k = 0; good && k < faults_count(notes); k++)
        registry_report(p->registry, TUTTI_LOG_WARNING,
                        "%s (its format is newer than this host's 1.%d)", faults_text(notes, k),
                        MANIFEST_MINOR);
    faults_destroy(f);
    faults_destroy(notes);
    return good ? judge_files(p, folder, err) : TUTTI_OK;
}

/* The same file under two names is one plugin. */
static bool is_known(const registry *r, const file_mark *mark)
{
    for (size_t k = 0; k < r->count; k++)
        if (r->plugins[k]->manifest && r->plugins[k]->trust.manifest.inode == mark->inode &&
            r->plugins[k]->trust.manifest.device == mark->device)
            return true;
    return false;
}

/* Takes `p` into the registry or frees it. */
static tutti_status keep_plugin(registry *r, plugin *p, tutti_error *err)
{
    if (r->count == r->capacity) {
        const size_t capacity = r->capacity ? 2 * r->capacity : 32;
        plugin **plugins = realloc(r->plugins, capacity * sizeof *plugins);
        if (!plugins) {
            plugin_free(p);
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the list of plugins");
        }
        r->plugins = plugins;
        r->capacity = capacity;
    }
    r->plugins[r->count++] = p;
    return TUTTI_OK;
}

/* A search folder that is held, and the rule that has judged it. */
typedef struct search_root {
    size_t place;
    held folder;
    trust_rule rule;
} search_root;

/* Opens folder and manifest and notes what they are. */
static tutti_status open_plugin(plugin *p, const search_root *root, const char *name,
                                const char *path, held *ret_folder, held *ret_manifest,
                                tutti_error *err)
{
    p->verdict.stage = STAGE_FILES;
    p->trust.rule.owner = p->trust.demands & DEMAND_OWNER;
    /* The folders above are walked again where they were not judged as strictly. */
    tutti_status status =
        root->rule.owner || !p->trust.rule.owner
            ? trust_folder_below(&root->folder, name, p->trust.rule, ret_folder, err)
            : trust_folder(path, p->trust.rule, ret_folder, err);
    if (!status) { /* where a link has led to may have a stricter rule */
        p->trust.demands |= authority_demands(p->registry, ret_folder->path);
        if (p->trust.demands & DEMAND_OWNER && !p->trust.rule.owner) {
            held_close(ret_folder);
            p->trust.rule.owner = true;
            status = trust_folder(path, p->trust.rule, ret_folder, err);
        }
    }
    p->folder = strdup(status ? path : ret_folder->path);
    if (!status)
        status = trust_file(ret_folder, "plugin.json", p->trust.rule, ret_manifest, err);
    if (!status) {
        p->manifest = strdup(ret_manifest->path);
        p->trust.manifest = ret_manifest->mark;
    }
    if (!p->folder || (!status && !p->manifest))
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to judge it", path);
    return status;
}

static tutti_status try_folder(registry *r, const search_root *root, const char *name,
                               const char *path, tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    held folder = {0}, manifest = {0};
    plugin *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to judge it", path);
    p->registry = r;
    p->place = root->place;
    p->trust.rule = root->rule;
    p->trust.demands = authority_demands(r, path);
    const uint32_t before = r->refusals;
    tutti_status status = open_plugin(p, root, name, path, &folder, &manifest, &cause);
    const bool absent = folder.path && status == TUTTI_E_NOTFOUND;
    const bool known = !status && is_known(r, &p->trust.manifest);
    if (!status && !known) {
        p->verdict.stage = STAGE_MANIFEST;
        status = read_plugin(p, &folder, &manifest, &cause);
    }
    held_close(&manifest);
    held_close(&folder);
    if (absent || known) {
        plugin_free(p);
        return TUTTI_OK;
    }
    p->verdict.ill_owned = r->refusals != before;
    if (status)
        plugin_fault(p, TUTTI_LOG_WARNING, status, cause.text);
    return keep_plugin(r, p, err);
}

static int is_candidate(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && entry->d_type != DT_REG;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Tries what lies in a search folder, and frees the entries. */
static tutti_status try_entries(registry *r, const search_root *root, struct dirent **entries,
                                int count, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < count; k++) {
        char path[PATH_MAX];
        struct stat s;
        const char *name = entries[k]->d_name;
        const int size = snprintf(path, sizeof path, "%s/%s", root->folder.path, name);
        if (!status && size < (int)sizeof path &&
            fstatat(root->folder.fd, name, &s, AT_SYMLINK_NOFOLLOW) == 0 &&
            (S_ISDIR(s.st_mode) || S_ISLNK(s.st_mode)))
            status = try_folder(r, root, name, path, err);
        free(entries[k]);
    }
    return status;
}

tutti_status search_folder(registry *r, size_t place, tutti_error *err)
{
    search_place *where = &r->places[place];
    struct dirent **entries = NULL;
    tutti_error cause = TUTTI_ERROR_INIT;
    search_root root = {.place = place,
                        .rule = {authority_demands(r, where->path) & DEMAND_OWNER,
                                 where->kind == PLACE_BESIDE ? &r->program : NULL,
                                 &r->refusals}};
    const uint32_t before = r->refusals;
    tutti_status status = trust_folder(where->path, root.rule, &root.folder, &cause);
    if (status == TUTTI_E_NOMEM)
        return tutti_fail(err, status, "%s", cause.text);
    where->state = !status                      ? REGISTRY_READ
                   : status == TUTTI_E_NOTFOUND ? REGISTRY_ABSENT
                                                : REGISTRY_REFUSED;
    if (status) {
        if (where->kind == PLACE_NAMED || status != TUTTI_E_NOTFOUND)
            registry_remark(r, r->refusals != before, "no plugins are taken from %s: %s",
                            where->path, cause.text);
        return TUTTI_OK;
    }
    const int count = scandirat(root.folder.fd, ".", &entries, is_candidate, by_bytes);
    if (count < 0 && errno == ENOMEM)
        status = tutti_fail(err, TUTTI_E_NOMEM, "no memory to list %s", root.folder.path);
    else if (count < 0)
        registry_report(r, TUTTI_LOG_WARNING, "no plugins are taken from %s: cannot be listed",
                        root.folder.path);
    else
        status = try_entries(r, &root, entries, count, err);
    free(entries);
    held_close(&root.folder);
    return status;
}
