/* registry.c - the search path, and finding an object by its name. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "plugin/plugin_internal.h"
#include "tutti/logger.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct registry {
    registry_options options;
    bundle **bundles; /* in search order */
    size_t count;
    size_t room;
    int roots; /* directories seen so far */
    bool trust;
};

TUTTI_PRINTF(3, 4)
static void report(const registry *r, int level, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (!r->options.report)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->options.report(r->options.report_ctx, level, text);
}

static void condemn(registry *r, bundle *b, const char *why)
{
    if (b->fault)
        return;
    b->fault = strdup(why);
    report(r, TUTTI_LOG_WARNING, "skipped a plugin: %s", why);
}

/* ---- one plugin ---- */

static void judge(registry *r, bundle *b)
{
    tutti_error e = TUTTI_ERROR_INIT;
    struct stat st;
    if (stat(b->manifest, &st) == 0) {
        b->device = st.st_dev;
        b->inode = st.st_ino;
    }
    if (r->trust && trust_check(b->manifest, &e)) {
        condemn(r, b, e.text);
        return;
    }
    if (manifest_read(b, &e)) {
        condemn(r, b, e.text);
        return;
    }
    if (access(b->library, R_OK) != 0) {
        (void)tutti_fail(&e, TUTTI_E_IO, "%s: the library %s cannot be read: %s", b->manifest,
                         b->library, strerror(errno));
        condemn(r, b, e.text);
        return;
    }
    if (r->trust && trust_check(b->library, &e))
        condemn(r, b, e.text);
}

/* Same file by another way: silently once.  Same id elsewhere: the first in search order wins; in one
 * directory neither does. */
static bool is_known(registry *r, bundle *b)
{
    for (size_t k = 0; k < r->count; k++) {
        bundle *other = r->bundles[k];
        if (other->inode == b->inode && other->device == b->device && b->inode)
            return true;
        if (strcmp(other->id, b->id) != 0 || strcmp(b->id, "?") == 0 || b->fault)
            continue;
        char why[1024];
        if (other->root == b->root) {
            (void)snprintf(why, sizeof why, "%s and %s have the same id %s; neither is used",
                           other->folder, b->folder, b->id);
            condemn(r, b, why);
            if (!other->fault)
                other->fault = strdup(why);
        } else {
            (void)snprintf(why, sizeof why, "%s: %s %s is hidden by version %s in %s",
                           b->folder, b->id, b->version, other->version, other->folder);
            condemn(r, b, why);
        }
    }
    return false;
}

/* TUTTI_SELECT and TUTTI_DISABLE: patterns of ids, separated by colons. */
static bool matches_any(const char *variable, const char *id)
{
    const char *list = secure_getenv(variable);
    char copy[1024];
    char *rest = copy;
    (void)snprintf(copy, sizeof copy, "%s", list ? list : "");
    for (char *one; (one = strsep(&rest, ":"));)
        if (*one && fnmatch(one, id, 0) == 0)
            return true;
    return false;
}

static void select_bundle(registry *r, bundle *b)
{
    char why[1024];
    const char *select = secure_getenv("TUTTI_SELECT");
    if (b->fault)
        return;
    if (matches_any("TUTTI_DISABLE", b->id))
        (void)snprintf(why, sizeof why, "%s: %s is disabled by TUTTI_DISABLE", b->folder,
                       b->id);
    else if (select && *select && !matches_any("TUTTI_SELECT", b->id))
        (void)snprintf(why, sizeof why, "%s: %s is not among TUTTI_SELECT", b->folder, b->id);
    else
        return;
    b->fault = strdup(why);
}

static tutti_status add_bundle(registry *r, const char *root, const char *name,
                               tutti_error *err)
{
    bundle *b = calloc(1, sizeof *b);
    const size_t size = strlen(root) + strlen(name) + 16;
    if (b) {
        b->folder = malloc(size);
        b->manifest = malloc(size);
    }
    if (r->count == r->room) {
        const size_t room = r->room ? 2 * r->room : 64;
        bundle **bundles = realloc(r->bundles, room * sizeof(bundle *));
        if (bundles) {
            r->bundles = bundles;
            r->room = room;
        }
    }
    if (!b || !b->folder || !b->manifest || r->count == r->room) {
        if (b)
            bundle_fini(b);
        free(b);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the plugins in %s", root);
    }
    (void)snprintf(b->folder, size, "%s/%s", root, name);
    (void)snprintf(b->manifest, size, "%s/%s/plugin.json", root, name);
    b->id = b->version = "?";
    b->root = r->roots;
    judge(r, b);
    if (is_known(r, b)) {
        bundle_fini(b);
        free(b);
        return TUTTI_OK;
    }
    select_bundle(r, b);
    r->bundles[r->count++] = b;
    return TUTTI_OK;
}

/* ---- directories ---- */

static int has_manifest(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static tutti_status scan(registry *r, const char *path, bool wanted, tutti_error *err)
{
    struct dirent **names;
    char root[PATH_MAX];
    r->roots++;
    /* Loops of links end here, with the system's own words. */
    if (!realpath(path, root)) {
        if (wanted)
            report(r, TUTTI_LOG_WARNING, "%s: no plugins there: %s", path, strerror(errno));
        return TUTTI_OK;
    }
    const int n = scandir(root, &names, has_manifest, NULL);
    if (n < 0) {
        if (wanted)
            report(r, TUTTI_LOG_WARNING, "%s: no plugins there: %s", path, strerror(errno));
        return TUTTI_OK;
    }
    tutti_status s = TUTTI_OK;
    /* sorted by bytes: readdir's order is random */
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && strcmp(names[j - 1]->d_name, names[j]->d_name) > 0; j--) {
            struct dirent *t = names[j];
            names[j] = names[j - 1];
            names[j - 1] = t;
        }
    for (int k = 0; k < n; k++) {
        char manifest[PATH_MAX + 300];
        struct stat st;
        (void)snprintf(manifest, sizeof manifest, "%s/%s/plugin.json", root, names[k]->d_name);
        if (s == TUTTI_OK && (lstat(manifest, &st) == 0 || errno == ELOOP))
            s = add_bundle(r, root, names[k]->d_name, err);
        free(names[k]);
    }
    free(names);
    return s;
}

static tutti_status scan_list(registry *r, const char *list, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    char *copy = strdup(list), *rest = copy;
    for (char *one; s == TUTTI_OK && copy && (one = strsep(&rest, ":"));)
        if (*one)
            s = scan(r, one, true, err);
    free(copy);
    return s;
}

static tutti_status scan_beside(registry *r, tutti_error *err)
{
    static const char *const tails[] = {"/../lib/tutti/plugins", "/lib/tutti/plugins"};
    char self[PATH_MAX], path[PATH_MAX + 32];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    tutti_status s = TUTTI_OK;
    if (n <= 0)
        return TUTTI_OK;
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (int k = 0; k < 2 && s == TUTTI_OK; k++) {
        (void)snprintf(path, sizeof path, "%s%s", self, tails[k]);
        s = scan(r, path, false, err);
    }
    return s;
}

static tutti_status scan_usual(registry *r, tutti_error *err)
{
    static const char *const system_paths[] = {
        "/etc/tutti/plugins.d", "/usr/local/lib/tutti/plugins", "/usr/lib/tutti/plugins"};
    const char *data = secure_getenv("XDG_DATA_HOME"), *home = secure_getenv("HOME");
    char path[PATH_MAX];
    tutti_status s = TUTTI_OK;
    if (data && *data == '/')
        (void)snprintf(path, sizeof path, "%s/tutti/plugins", data);
    else
        (void)snprintf(path, sizeof path, "%s/.local/share/tutti/plugins", home ? home : "");
    if (home || data)
        s = scan(r, path, false, err);
    for (int k = 0; k < 3 && s == TUTTI_OK; k++)
        s = scan(r, system_paths[k], false, err);
    return s ? s : scan_beside(r, err);
}

tutti_status registry_create(const registry_options *options, registry **ret_registry,
                             tutti_error *err)
{
    registry *r = calloc(1, sizeof *r);
    if (!r)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the plugin registry");
    r->options = *options;
    r->trust = options->trust != TRUST_NONE;
    const char *more = secure_getenv("TUTTI_ADD_PLUGIN_PATH");
    const char *instead = secure_getenv("TUTTI_PLUGIN_PATH");
    tutti_status s = TUTTI_OK;
    if (options->trust == TRUST_PINNED)
        s = tutti_fail(err, TUTTI_E_UNSUPPORTED,
                       "pinned trust needs a lock file reader, which this "
                       "build does not have");
    for (size_t k = 0; s == TUTTI_OK && options->plugin_paths && options->plugin_paths[k]; k++)
        s = scan(r, options->plugin_paths[k], true, err);
    if (s == TUTTI_OK && more)
        s = scan_list(r, more, err);
    if (s == TUTTI_OK)
        s = instead ? scan_list(r, instead, err) : scan_usual(r, err);
    if (s) {
        registry_destroy(r);
        return s;
    }
    *ret_registry = r;
    return TUTTI_OK;
}

void registry_destroy(registry *r)
{
    if (!r)
        return;
    for (size_t k = 0; k < r->count; k++) {
        bundle_fini(r->bundles[k]);
        free(r->bundles[k]);
    }
    free(r->bundles);
    free(r);
}

/* ---- looking up ---- */

/* Splits "id@version:name"; parts that are not there are empty. */
static void split(const char *text, char id[129], char version[40], const char **ret_name)
{
    const char *colon = strrchr(text, ':');
    id[0] = version[0] = '\0';
    *ret_name = colon ? colon + 1 : text;
    if (!colon)
        return;
    const char *at = memchr(text, '@', (size_t)(colon - text));
    (void)snprintf(id, 129, "%.*s", (int)((at ? at : colon) - text), text);
    if (at)
        (void)snprintf(version, 40, "%.*s", (int)(colon - at - 1), at + 1);
}

static tutti_status not_found(const registry *r, const char *kind, const char *name,
                              tutti_error *err)
{
    const char *words[513] = {NULL};
    size_t n = 0;
    for (size_t k = 0; k < r->count; k++)
        for (size_t j = 0; j < r->bundles[k]->nobjects && n < 512; j++)
            if (!r->bundles[k]->fault && strcmp(r->bundles[k]->objects[j].info.kind, kind) == 0)
                words[n++] = r->bundles[k]->objects[j].info.name;
    const char *near = nearest_word(name, words);
    for (size_t k = 0; k < r->count; k++) {
        const char *last = strrchr(r->bundles[k]->folder, '/');
        if (r->bundles[k]->fault && last && strcmp(last + 1, name) == 0)
            return tutti_fail(err, TUTTI_E_NOTFOUND, "the plugin %s cannot be used: %s", name,
                              r->bundles[k]->fault);
    }
    return tutti_fail(err, TUTTI_E_NOTFOUND, "there is no %s %s%s%s%s", kind, name,
                      near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

tutti_status registry_find(registry *r, const char *kind, const char *name,
                           const object **ret_object, tutti_error *err)
{
    char id[129], version[40];
    const char *object_name;
    const object *found = NULL, *faulty = NULL;
    split(name, id, version, &object_name);
    for (size_t k = 0; k < r->count; k++) {
        const bundle *b = r->bundles[k];
        if ((*id && strcmp(b->id, id) != 0) || (*version && strcmp(b->version, version) != 0))
            continue;
        for (size_t j = 0; j < b->nobjects; j++) {
            const object *o = &b->objects[j];
            if (strcmp(o->info.name, object_name) != 0 || strcmp(o->info.kind, kind) != 0)
                continue;
            if (b->fault)
                faulty = o;
            else if (!found)
                found = o;
            else
                return tutti_fail(err, TUTTI_E_EXISTS,
                                  "%s %s is in %s and in %s; write \"%s:%s\" or \"%s:%s\"",
                                  kind, object_name, found->bundle->id, b->id,
                                  found->bundle->id, object_name, b->id, object_name);
        }
    }
    if (!found && faulty)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "the plugin of %s %s cannot be used: %s", kind,
                          object_name, faulty->bundle->fault);
    if (!found)
        return not_found(r, kind, name, err);
    *ret_object = found;
    return TUTTI_OK;
}

size_t registry_plugin_count(const registry *r)
{
    return r->count;
}

void registry_plugin(const registry *r, size_t k, plugin_info *ret_info)
{
    const bundle *b = r->bundles[k];
    *ret_info = (plugin_info){b->id,    b->version,  b->folder, b->license ? b->license : "?",
                              b->fault, b->nobjects, b->list};
}

const object_info *object_describe(const object *o)
{
    return &o->info;
}
