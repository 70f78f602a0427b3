/* manifest.c - the strict reader of plugin.json. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* [a-z0-9.-_], at least one dot inside. */
static bool is_id(const char *id)
{
    const size_t n = strlen(id);
    if (n < 3 || n > 128 || id[0] == '.' || id[n - 1] == '.' || !strchr(id, '.') ||
        strstr(id, ".."))
        return false;
    return strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

/* MAJOR.MINOR.PATCH and perhaps -pre.release or +build. */
static bool is_version(const char *v)
{
    for (int part = 0; part < 3; part++) {
        const size_t digits = strspn(v, "0123456789");
        if (!digits || digits > 9 || (digits > 1 && v[0] == '0'))
            return false;
        v += digits;
        if (part < 2 && *v++ != '.')
            return false;
    }
    if (!*v)
        return true;
    for (const char *c = v + 1; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(".-+", *c))
            return false;
    return (*v == '-' || *v == '+') && v[1];
}

/* "1.2" */
static bool read_abi(const json_node *node, const char *key, uint32_t *ret, faults *f)
{
    unsigned major, minor;
    char rest;
    const char *text = json_member_string(node, key, MEMBER_REQUIRED, f);
    if (!text)
        return false;
    if (strspn(text, "0123456789.") != strlen(text) || strlen(text) > 9 ||
        sscanf(text, "%u.%u%c", &major, &minor, &rest) != 2 || major > 0xffff ||
        minor > 0xffff) {
        faults_add(f, json_get(node, key), "is \"%s\", want a version such as \"1.0\"", text);
        return false;
    }
    *ret = TUTTI_ABI_VERSION(major, minor);
    return true;
}

static void check_abi(const plugin *p, const json_node *abi, faults *f)
{
    const unsigned major = p->declared.abi_min >> 16, minor = p->declared.abi_min & 0xffff;
    const unsigned host_major = TUTTI_ABI >> 16, host_minor = TUTTI_ABI & 0xffff;
    if (major != host_major)
        faults_add(f, json_get(abi, "min"),
                   "needs host ABI %u.%u, this host has %u.%u and takes %u.x only", major,
                   minor, host_major, host_minor, host_major);
    else if (minor > host_minor)
        faults_add(f, json_get(abi, "min"),
                   "needs host ABI %u.%u or later, this host has %u.%u", major, minor,
                   host_major, host_minor);
}

/* A library of the system, such as "libm.so.6". */
static void read_soname(const plugin *p, const json_node *library, faults *f)
{
    if (!p->declared.foreign)
        faults_add(f, json_get(library, "soname"),
                   "is of a library that is no plugin, want \"foreign\": true beside it");
    if (strchr(p->declared.soname, '/'))
        faults_add(f, json_get(library, "soname"),
                   "is \"%s\", want a name without a folder, such as \"libm.so.6\"",
                   p->declared.soname);
    for (const char *const *key = (const char *const[]){"path", "sha256", NULL}; *key; key++)
        if (json_get(library, *key))
            faults_add(f, json_get(library, *key),
                       "is of a file beside the manifest, which a "
                       "library with a soname is not");
}

/* Functions that know nothing of Tutti take no engine and give no status; such a library has nothing else. */
static void check_foreign(const plugin *p, const json_node *root, faults *f)
{
    static const char *const others[] = {"objects", "kernels", "events"};
    const json_node *handlers = json_get(root, "handlers");
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (json_count(json_get(root, others[k])))
            faults_add(f, json_get(root, others[k]),
                       "a foreign library has handlers alone: it knows nothing of Tutti");
    for (size_t k = 0; k < p->nkernels && k < json_count(handlers); k++) {
        const json_node *node = json_at(handlers, k), *returns = json_get(node, "returns");
        if (p->kernels[k].engine)
            faults_add(f, json_get(node, "engine"),
                       "a function of a foreign library knows no engine");
        if (p->kernels[k].returns && strcmp(p->kernels[k].returns, "status") == 0)
            faults_add(f, returns ? returns : node,
                       "a function of a foreign library gives no status: want \"returns\" with "
                       "what it gives, such as \"f64\", \"posix\" or \"void\"");
    }
}

static void read_library(plugin *p, const json_node *root, faults *f)
{
    static const char *const keys[] = {"path", "sha256", "foreign", "soname", NULL};
    const json_node *library =
        json_member_read(root, "library", MEMBER_OBJECT, MEMBER_REQUIRED, f);
    if (!library)
        return;
    faults_unknown_keys(f, library, keys);
    const json_node *foreign = json_member_read(library, "foreign", MEMBER_BOOL, 0, f);
    p->declared.foreign = foreign && json_bool(foreign);
    p->declared.soname = json_member_string(library, "soname", 0, f);
    if (p->declared.soname) {
        read_soname(p, library, f);
        return;
    }
    p->declared.library = json_member_string(library, "path", MEMBER_REQUIRED, f);
    p->declared.sha256 = json_string(json_member_read(library, "sha256", MEMBER_SHA256, 0, f));
    /* Every part of the path is a plain name, so that the library lies below the manifest. */
    bool plain = p->declared.library && p->declared.library[0] != '/';
    for (const char *part = plain ? p->declared.library : NULL; part;) {
        const size_t size = strcspn(part, "/");
        if (!size || strncmp(part, "..", size) == 0)
            plain = false;
        part = part[size] ? part + size + 1 : NULL;
    }
    if (p->declared.library && !plain)
        faults_add(f, json_get(library, "path"),
                   "is \"%s\", want a path below the manifest's folder, without \"..\"",
                   p->declared.library);
}

/* "1.N": of a newer minor than this host's, unknown words become notes, as the format's rules have it. */
static void read_format(const json_node *root, faults *f)
{
    unsigned minor = 0;
    char rest;
    const char *format = json_member_string(root, "format", MEMBER_REQUIRED, f);
    if (!format)
        return;
    if (strlen(format) > 6 || sscanf(format, "1.%u%c", &minor, &rest) != 1)
        faults_add(f, json_get(root, "format"), "is \"%s\", want \"1.%d\"", format,
                   MANIFEST_MINOR);
    if (minor <= MANIFEST_MINOR)
        faults_be_lenient(f, NULL, NULL);
}

static void read_identity(plugin *p, const json_node *root, faults *f)
{
    read_format(root, f);
    p->id = json_member_string(root, "id", MEMBER_REQUIRED, f);
    if (p->id && !is_id(p->id)) {
        faults_add(f, json_get(root, "id"),
                   "is \"%s\", want a name such as \"org.example.thing\" of a-z, 0-9, dots, "
                   "- and _",
                   p->id);
        p->id = NULL;
    }
    p->version = json_member_string(root, "version", MEMBER_REQUIRED, f);
    if (p->version && !is_version(p->version))
        faults_add(f, json_get(root, "version"), "is \"%s\", want a version such as \"1.2.0\"",
                   p->version);
    p->declared.license = json_member_string(root, "license", MEMBER_REQUIRED, f);
    (void)json_member_string(root, "vendor", 0, f);
    (void)json_member_string(root, "url", 0, f);
}

/* Interfaces that the plugin needs the host to ask its objects for. */
static void read_consumes(const json_node *root, faults *f)
{
    const char *const *known = tables_consumed();
    const char **words = json_member_words(root, "consumes", f);
    for (size_t k = 0; words && words[k]; k++) {
        size_t m = 0;
        while (known[m] && strcmp(known[m], words[k]) != 0)
            m++;
        if (!known[m])
            faults_add(f, json_at(json_get(root, "consumes"), k),
                       "needs a host that asks its objects for %s; this one never does",
                       words[k]);
    }
    free(words);
}

/* A list of strings that is kept as JSON. */
static const json_node *read_list(const json_node *root, const char *key, faults *f)
{
    const char **words = json_member_words(root, key, f);
    const json_node *list = words ? json_get(root, key) : NULL;
    free(words);
    return list;
}

const char *manifest_event(const json_node *node, const char **ret_attribute)
{
    *ret_attribute = json_string(json_get(node, "attribute"));
    return json_type(node) == JSON_OBJECT ? json_string(json_get(node, "name"))
                                          : json_string(node);
}

/* Custom events, each a name or an object with a name and the state attribute that counts it. */
static void read_own_events(plugin *p, const json_node *root, faults *f)
{
    static const char *const keys[] = {"name", "attribute", NULL};
    const size_t before = faults_count(f);
    const json_node *list = json_member_read(root, "events", MEMBER_ARRAY, 0, f);
    for (size_t k = 0; list && k < json_count(list); k++) {
        const json_node *node = json_at(list, k);
        const char *attribute, *name = manifest_event(node, &attribute), *ignored;
        if (json_type(node) == JSON_OBJECT) {
            faults_unknown_keys(f, node, keys);
            (void)json_member_string(node, "name", MEMBER_REQUIRED, f);
            (void)json_member_string(node, "attribute", 0, f);
        }
        if (!name || !*name) {
            if (json_type(node) != JSON_OBJECT)
                faults_add(f, node, "want a string that is not empty, or an object");
            continue;
        }
        if (event_number(name) >= 0)
            faults_add(f, node, "\"%s\" is an event of the host already", name);
        for (size_t m = 0; m < k; m++) {
            const char *other = manifest_event(json_at(list, m), &ignored);
            if (other && strcasecmp(other, name) == 0)
                faults_add(f, node, "\"%s\" is there twice", name);
        }
    }
    if (list && !json_count(list))
        faults_add(f, list, "is empty");
    if (faults_count(f) == before)
        p->declared.events = list;
}

static void read_root(plugin *p, const json_node *root, faults *f)
{
    static const char *const keys[] = {
        "format",   "id",        "version",         "license",  "abi",    "library",  "objects",
        "vendor",   "url",       "kernels",         "handlers", "events", "requires", "uses",
        "consumes", "conflicts", "must_understand", "types",    NULL};
    static const char *const abi_keys[] = {"min", "built", NULL};
    read_identity(p, root, f);
    faults_unknown_keys(f, root, keys);
    const json_node *abi = json_member_read(root, "abi", MEMBER_OBJECT, MEMBER_REQUIRED, f);
    if (abi) {
        faults_unknown_keys(f, abi, abi_keys);
        if (read_abi(abi, "min", &p->declared.abi_min, f))
            check_abi(p, abi, f);
    }
    read_library(p, root, f);
    read_own_events(p, root, f);
    p->declared.requires_ = read_list(root, "requires", f);
    p->declared.conflicts = read_list(root, "conflicts", f);
    p->declared.uses = read_list(root, "uses", f);
    read_consumes(root, f);
    const json_node *kernels = json_member_read(root, "kernels", MEMBER_ARRAY, 0, f);
    const json_node *handlers = json_member_read(root, "handlers", MEMBER_ARRAY, 0, f);
    if (kernels)
        kernels_read(p, kernels, false, f);
    const json_node *types = json_member_read(root, "types", MEMBER_ARRAY, 0, f);
    p->types = ctypes_read(types, f);
    if (handlers && p->types)
        kernels_read(p, handlers, true, f);
    if (p->declared.foreign)
        check_foreign(p, root, f);
    const json_node *objects =
        json_member_read(root, "objects", MEMBER_ARRAY, MEMBER_REQUIRED, f);
    if (objects)
        objects_read(p, objects, f);
}

/* Keys of settings that came with format 1.1.  A host of 1.0 leaves them out of a manifest that says so, and refuses one
 * that does not. */
static void check_minor(const json_node *root, faults *f)
{
    const char *format = json_string(json_get(root, "format"));
    const json_node *objects = json_get(root, "objects");
    if (!format || strcmp(format, "1.0") != 0)
        return;
    for (size_t k = 0; k < json_count(objects); k++) {
        const json_node *params = json_get(json_at(objects, k), "params");
        for (size_t m = 0; m < json_count(params); m++) {
            const json_node *scalar = json_get(json_at(params, m), "scalar");
            if (scalar)
                faults_add(f, scalar, "is of format 1.1, and this manifest says 1.0");
        }
    }
}

/* The words that a newer manifest says must be understood.  The caller frees it; NULL: none. */
static const char **read_must(const json_node *root, faults *f)
{
    return json_get(root, "must_understand") ? json_member_words(root, "must_understand", f)
                                             : NULL;
}

void manifest_read(plugin *p, faults *f, faults *notes)
{
    const json_node *root = json_root(p->doc);
    if (json_type(root) != JSON_OBJECT) {
        faults_add(f, root, "is %s, want an object", json_type_name(root));
        return;
    }
    const char **must = read_must(root, f);
    faults_be_lenient(f, notes, must);
    read_root(p, root, f);
    check_minor(root, f);
    p->declared.newer = faults_lenient(f);
    faults_be_lenient(f, NULL, NULL);
    free(must);
}
