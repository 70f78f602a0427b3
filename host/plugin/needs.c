/* needs.c - DT_NEEDED, RPATH and RUNPATH, resolved as the system's loader does. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/needs.h"
#include "plugin/elf/elf.h"
#include "plugin/image.h"
#include "plugin/plugin.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEPTH = 16 };

/* A library under way, and who asked for it. */
typedef struct asker {
    const char *name; /* as it was asked for; of the plugin's own: its path */
    const char *path;
    elf_dynamic dynamic;
    const struct asker *by; /* NULL: the plugin's own */
} asker;

typedef struct search {
    const plugin *plugin;
    needs *found;
    bool seal;
} search;

static tutti_status walk(const search *s, const char *path, const char *name, const bytes *b,
                         const asker *by, tutti_error *err);

void needs_fini(needs *n)
{
    for (size_t k = 0; k < n->count; k++) {
        free(n->items[k].name);
        free(n->items[k].path);
        bytes_free(&n->items[k].content);
    }
    free(n->items);
    *n = (needs){0};
}

/* Takes the need into the list, or frees it. */
static tutti_status keep(needs *n, need *one, tutti_error *err)
{
    if (n->count == n->capacity) {
        const size_t capacity = n->capacity ? 2 * n->capacity : 8;
        need *items = realloc(n->items, capacity * sizeof *items);
        if (!items) {
            free(one->name);
            free(one->path);
            bytes_free(&one->content);
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the libraries of a plugin");
        }
        n->items = items;
        n->capacity = capacity;
    }
    n->items[n->count++] = *one;
    return TUTTI_OK;
}

/* Below the system's own folders, which a plugin that is installed there is too. */
static bool is_system(const plugin *p, const char *path)
{
    static const char *const folders[] = {"/lib/",     "/lib64/",     "/lib32/",
                                          "/usr/lib/", "/usr/lib64/", "/usr/lib32/"};
    const size_t n = strlen(p->folder);
    if (strncmp(path, p->folder, n) == 0 && path[n] == '/')
        return false;
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++)
        if (strncmp(path, folders[k], strlen(folders[k])) == 0)
            return true;
    return false;
}

/* Replaces $ORIGIN by the asker's folder.  False: there is another variable, or too long a path. */
static bool expand(const asker *a, const char *text, size_t size, char *to)
{
    static const char *const spelled[] = {"$ORIGIN", "${ORIGIN}"};
    const int folder = (int)(strrchr(a->path, '/') - a->path);
    size_t used = 0;
    for (size_t k = 0; k < size;) {
        size_t skip = 0;
        for (int m = 0; m < 2 && !skip; m++) {
            const size_t n = strlen(spelled[m]);
            skip = size - k >= n && strncmp(text + k, spelled[m], n) == 0 ? n : 0;
        }
        if (!skip && text[k] == '$')
            return false;
        if (used + (skip ? (size_t)folder : 1) >= PATH_MAX)
            return false;
        if (skip) {
            memcpy(to + used, a->path, (size_t)folder);
            used += (size_t)folder;
            k += skip;
        } else
            to[used++] = text[k++];
    }
    to[used] = '\0';
    return true;
}

static tutti_status refuse_variable(const asker *a, const char *what, size_t size,
                                    tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_TRUST,
                      "%s: looks for its libraries in %.*s, want absolute folders and $ORIGIN "
                      "alone",
                      a->path, (int)size, what);
}

/* The file at `path`, held, if there is one that the system's loader would take; else *ret stays empty. */
static tutti_status try_path(const search *s, const asker *a, const char *name,
                             const char *path, held *ret, tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    const tutti_status status = trust_path(path, s->plugin->trust.rule, ret, &cause);
    if (!status || status == TUTTI_E_NOTFOUND || status == TUTTI_E_IO)
        return TUTTI_OK;
    if (status == TUTTI_E_NOMEM)
        return tutti_fail(err, status, "%s", cause.text);
    return tutti_fail(err, status, "%s: needs %s, which it looks for where it may not be: %s",
                      a->path, name, cause.text);
}

/* Looks through folders with colons between them. */
static tutti_status try_folders(const search *s, const asker *a, const asker *origin,
                                const char *list, const char *name, held *ret, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    while (list && *list && !status && !ret->path) {
        char folder[PATH_MAX], path[2 * PATH_MAX];
        const size_t size = strcspn(list, ":");
        if (!expand(origin, list, size, folder))
            return refuse_variable(origin, list, size, err);
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        if (folder[0] == '/')
            status = try_path(s, a, name, path, ret, err);
        list += size + (list[size] == ':');
    }
    return status;
}

/* Whether a folder of LD_LIBRARY_PATH has it: who sets that chooses the program's own libraries as well. */
static bool in_library_path(const char *name)
{
    const char *list = secure_getenv("LD_LIBRARY_PATH");
    while (list && *list) {
        char path[PATH_MAX];
        const size_t size = strcspn(list, ":;");
        const int n = snprintf(path, sizeof path, "%.*s/%s", (int)size, list, name);
        if (size && n < (int)sizeof path && access(path, R_OK) == 0)
            return true;
        list += size + (list[size] != '\0');
    }
    return false;
}

static tutti_status look_for(const search *s, const asker *a, const char *name, held *ret,
                             tutti_error *err)
{
    char path[PATH_MAX];
    tutti_status status = TUTTI_OK;
    if (strchr(name, '/')) {
        if (!expand(a, name, strlen(name), path) || path[0] != '/')
            return refuse_variable(a, name, strlen(name), err);
        return try_path(s, a, name, path, ret, err);
    }
    for (const asker *up = a; up && !a->dynamic.runpath && !status && !ret->path; up = up->by)
        if (!up->dynamic.runpath)
            status = try_folders(s, a, up, up->dynamic.rpath, name, ret, err);
    if (!status && !ret->path && !in_library_path(name))
        status = try_folders(s, a, a, a->dynamic.runpath, name, ret, err);
    return status;
}

static need *known(const needs *n, const char *name)
{
    for (size_t k = 0; k < n->count; k++)
        if (strcmp(n->items[k].name, name) == 0)
            return &n->items[k];
    return NULL;
}

/* Judges a library that is not the system's, and goes on to what it needs itself. */
static tutti_status take_file(const search *s, const asker *a, const held *file, need *one,
                              tutti_error *err)
{
    tutti_status status = s->seal ? bytes_seal(file, &one->content, err)
                                  : bytes_read(file, SIZE_MAX - 1, &one->content, err);
    if (!status)
        status = elf_check_needed(file->path, one->content.data, one->content.size, err);
    if (!status)
        status = admit(s->plugin, file->path, &one->content, NULL, err);
    return status ? status : walk(s, file->path, one->name, &one->content, a, err);
}

static tutti_status take(const search *s, const asker *a, const char *name, const held *file,
                         tutti_error *err)
{
    const need *other = known(s->found, name);
    if (other && (!file->path || !other->path || mark_equal(&other->mark, &file->mark)))
        return TUTTI_OK; /* the loader takes the first for both */
    if (other)
        return tutti_fail(
            err, TUTTI_E_TRUST,
            "%s: needs %s at %s, but another of its libraries needs the one at %s; "
            "want one library by that name",
            a->path, name, file->path, other->path);
    need one = {.name = strdup(name), .content = {.fd = -1}};
    tutti_status status = TUTTI_OK;
    if (file->path) {
        one.path = strdup(file->path);
        one.is_system = is_system(s->plugin, file->path);
        one.mark = file->mark;
    }
    if (!one.name || (file->path && !one.path))
        status = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to judge it", a->path);
    else if (file->path && !one.is_system)
        status = take_file(s, a, file, &one, err);
    if (!status)
        return keep(s->found, &one, err);
    free(one.name);
    free(one.path);
    bytes_free(&one.content);
    return status;
}

static tutti_status resolve(const search *s, const asker *a, const char *name, tutti_error *err)
{
    held file = {0};
    int depth = 0;
    for (const asker *up = a; up; up = up->by, depth++)
        if (strcmp(up->name, name) == 0)
            return tutti_fail(err, TUTTI_E_FORMAT,
                              "%s: needs %s, which needs it in turn; want libraries without a "
                              "circle",
                              a->path, name);
    if (depth > MAX_DEPTH)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: its libraries need others %d levels deep",
                          a->path, MAX_DEPTH);
    tutti_status status = TUTTI_OK;
    if (!image_is_programs(name)) /* else the loader takes what is there already */
        status = look_for(s, a, name, &file, err);
    if (!status)
        status = take(s, a, name, &file, err);
    held_close(&file);
    return status;
}

static tutti_status walk(const search *s, const char *path, const char *name, const bytes *b,
                         const asker *by, tutti_error *err)
{
    asker *a = malloc(sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to judge it", path);
    *a = (asker){.name = name, .path = path, .by = by};
    tutti_status status = elf_dynamic_read(path, b->data, b->size, &a->dynamic, err);
    if (!status && a->dynamic.filter)
        status = tutti_fail(err, TUTTI_E_TRUST,
                            "%s: lets %s answer in its place (DT_FILTER), want a library that "
                            "does not",
                            path, a->dynamic.filter);
    for (size_t k = 0; k < a->dynamic.nneeded && !status; k++)
        status = resolve(s, a, a->dynamic.needed[k], err);
    free(a);
    return status;
}

tutti_status needs_find(const plugin *p, const char *path, const bytes *library, bool seal,
                        needs *ret, tutti_error *err)
{
    needs found = {0};
    const search s = {p, &found, seal};
    const tutti_status status = walk(&s, path, path, library, NULL, err);
    if (status)
        needs_fini(&found);
    else
        *ret = found;
    return status;
}
