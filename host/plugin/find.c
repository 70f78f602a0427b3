/* find.c - the object that a run file means. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"
#include "base/text.h"
#include "plugin/registry_internal.h"

#include <stdlib.h>
#include <string.h>

/* "id@version:name" in pieces; id and version may be empty. */
typedef struct wanted {
    char id[160];
    char version[64];
    const char *name;
    const char *kind;
} wanted;

static tutti_status parse_name(const char *kind, const char *name, wanted *w, tutti_error *err)
{
    const char *colon = strrchr(name, ':');
    memset(w, 0, sizeof *w);
    w->kind = kind;
    w->name = colon ? colon + 1 : name;
    if (!colon)
        return TUTTI_OK;
    const char *at = memchr(name, '@', (size_t)(colon - name));
    const size_t id_size = (size_t)((at ? at : colon) - name);
    const size_t version_size = at ? (size_t)(colon - at - 1) : 0;
    if (!id_size || id_size >= sizeof w->id || version_size >= sizeof w->version)
        return tutti_fail(err, TUTTI_E_ARG,
                          "\"%s\": want \"name\", \"plugin.id:name\" or "
                          "\"plugin.id@version:name\"",
                          name);
    memcpy(w->id, name, id_size);
    if (at)
        memcpy(w->version, at + 1, version_size);
    return TUTTI_OK;
}

static bool plugin_fits(const plugin *p, const wanted *w)
{
    if (*w->id && (!p->id || strcmp(p->id, w->id) != 0))
        return false;
    return !*w->version || (p->version && strcmp(p->version, w->version) == 0);
}

static bool is_usable(const plugin *p, const wanted *w)
{
    return !p->verdict.fault || (p->verdict.shadowed && *w->version);
}

/* Ids that begin so are the project's own. */
static bool is_built_in(const plugin *p)
{
    return p->id && strncmp(p->id, "org.tutti.", 10) == 0;
}

static const object *object_of(const plugin *p, const wanted *w)
{
    for (size_t k = 0; k < p->nobjects; k++) {
        const object_info *o = &p->objects[k].info;
        if (o->name && o->kind && strcmp(o->name, w->name) == 0 &&
            strcmp(o->kind, w->kind) == 0)
            return &p->objects[k];
    }
    return NULL;
}

static tutti_status refuse_ambiguous(const registry *r, const wanted *w, tutti_error *err)
{
    text_buffer b = {0};
    for (size_t k = 0; k < r->count; k++) {
        const plugin *p = r->plugins[k];
        if (plugin_fits(p, w) && is_usable(p, w) && object_of(p, w))
            text_add(&b, "%s%s:%s", b.size ? ", " : "", p->id, w->name);
    }
    const tutti_status status =
        tutti_fail(err, TUTTI_E_ARG,
                   "there are several objects of kind %s called \"%s\"; name "
                   "one of %s",
                   w->kind, w->name, b.data ? b.data : "them");
    free(b.data);
    return status;
}

/* Names of usable objects of the kind, NULL-terminated, or NULL. */
static const char **names_of_kind(const registry *r, const wanted *w)
{
    size_t count = 0;
    for (size_t k = 0; k < r->count; k++)
        count += r->plugins[k]->nobjects;
    const char **names = calloc(count + 1, sizeof *names);
    count = 0;
    for (size_t k = 0; names && k < r->count; k++) {
        const plugin *p = r->plugins[k];
        for (size_t m = 0; m < p->nobjects && !p->verdict.fault && plugin_fits(p, w); m++)
            if (strcmp(p->objects[m].info.kind, w->kind) == 0)
                names[count++] = p->objects[m].info.name;
    }
    return names;
}

/* The last part of a folder's path: what a plugin whose manifest is unreadable is known by. */
static const char *folder_name(const plugin *p)
{
    const char *slash = strrchr(p->folder, '/');
    return slash ? slash + 1 : p->folder;
}

static tutti_status refuse_absent(const registry *r, const wanted *w, const char *name,
                                  tutti_error *err)
{
    for (size_t k = 0; k < r->count; k++) {
        const plugin *p = r->plugins[k];
        if (p->verdict.fault && plugin_fits(p, w) &&
            (object_of(p, w) || (!p->nobjects && strcmp(folder_name(p), w->name) == 0)))
            return tutti_fail(err, TUTTI_E_NOTFOUND, "the %s %s cannot be used: %s", w->kind,
                              name, p->verdict.fault);
    }
    const char **names = names_of_kind(r, w);
    const suggestion near = suggest_word(w->name, names);
    text_buffer b = {0};
    for (size_t k = 0; names && names[k]; k++)
        text_add(&b, "%s%s", k ? ", " : "", names[k]);
    tutti_status status;
    if (near.word)
        status =
            tutti_fail(err, TUTTI_E_NOTFOUND, "there is no %s %s%s", w->kind, name, near.text);
    else if (b.data)
        status = tutti_fail(err, TUTTI_E_NOTFOUND, "there is no %s %s; there are %s", w->kind,
                            name, b.data);
    else
        status = tutti_fail(err, TUTTI_E_NOTFOUND,
                            "there is no %s %s, nor any other %s on the plugin "
                            "search path",
                            w->kind, name, w->kind);
    free(names);
    free(b.data);
    return status;
}

/* The only usable object that `w` means in plugins whose is_built_in is `built_in`; *ret_count says how many there
 * are. */
static const object *find_among(const registry *r, const wanted *w, bool built_in,
                                size_t *ret_count)
{
    const object *found = NULL;
    *ret_count = 0;
    for (size_t k = 0; k < r->count; k++) {
        const plugin *p = r->plugins[k];
        const object *o = is_built_in(p) == built_in && plugin_fits(p, w) && is_usable(p, w)
                              ? object_of(p, w)
                              : NULL;
        found = o ? o : found;
        *ret_count += o != NULL;
    }
    return found;
}

tutti_status registry_find(registry *r, const char *kind, const char *name,
                           const object **ret_object, tutti_error *err)
{
    size_t count;
    wanted w;
    const tutti_status status = parse_name(kind, name, &w, err);
    if (status)
        return status;
    /* The project's names mean the project's objects, whatever else is installed. */
    const object *found = find_among(r, &w, true, &count);
    if (!count)
        found = find_among(r, &w, false, &count);
    if (!count)
        return refuse_absent(r, &w, name, err);
    if (count > 1)
        return refuse_ambiguous(r, &w, err);
    *ret_object = found;
    return TUTTI_OK;
}

const char *registry_hidden_by(const registry *r, const object *o)
{
    size_t count;
    const wanted w = {.name = o->info.name, .kind = o->info.kind};
    if (o->plugin->verdict.fault || is_built_in(o->plugin))
        return NULL;
    const object *found = find_among(r, &w, true, &count);
    return found ? found->plugin->id : NULL;
}
