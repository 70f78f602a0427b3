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
static bool split_abi(const char *text, unsigned *ret_major, unsigned *ret_minor)
{
    char rest;
    return strspn(text, "0123456789.") == strlen(text) && strlen(text) <= 9 &&
           sscanf(text, "%u.%u%c", ret_major, ret_minor, &rest) == 2 && *ret_major <= 0xffff &&
           *ret_minor <= 0xffff;
}

static bool is_abi(const char *text)
{
    unsigned major, minor;
    return split_abi(text, &major, &minor);
}

static const json_member abi_rows[] = {
    {.name = "min",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     .fits = is_abi,
     .want = "a version such as \"1.0\"",
     .size = sizeof(const char *)},
    {.name = "built"},
    {.name = NULL},
};

static void read_abi(plugin *p, const json_node *abi, faults *f)
{
    const unsigned host_major = TUTTI_ABI >> 16, host_minor = TUTTI_ABI & 0xffff;
    unsigned major = 0, minor = 0;
    const char *min = NULL;
    (void)json_object_read(abi, "an object", abi_rows, &min, f);
    if (!min || !split_abi(min, &major, &minor))
        return;
    p->declared.abi_min = TUTTI_ABI_VERSION(major, minor);
    if (major != host_major)
        faults_add(f, json_get(abi, "min"),
                   "needs host ABI %u.%u, this host has %u.%u and takes %u.x only", major,
                   minor, host_major, host_minor, host_major);
    else if (minor > host_minor)
        faults_add(f, json_get(abi, "min"),
                   "needs host ABI %u.%u or later, this host has %u.%u", major, minor,
                   host_major, host_minor);
}

static bool is_plain_name(const char *name)
{
    return !strchr(name, '/');
}

/* Every part of the path is a plain name, so that the library lies below the manifest. */
static bool is_below(const char *path)
{
    bool plain = path[0] != '/';
    for (const char *part = plain ? path : NULL; part;) {
        const size_t size = strcspn(part, "/");
        if (!size || strncmp(part, "..", size) == 0)
            plain = false;
        part = part[size] ? part + size + 1 : NULL;
    }
    return plain;
}

static const json_member library_rows[] = {
    {.name = "foreign", .type = MEMBER_BOOL, MEMBER_AT(plugin_declared, foreign)},
    {.name = "soname",
     .type = MEMBER_STRING,
     .fits = is_plain_name,
     .want = "a name without a folder, such as \"libm.so.6\"",
     MEMBER_AT(plugin_declared, soname)},
    {.name = NULL},
};

/* Of a library beside the manifest. */
static const json_member file_rows[] = {
    {.name = "path",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     .fits = is_below,
     .want = "a path below the manifest's folder, without \"..\"",
     MEMBER_AT(plugin_declared, library)},
    {.name = "sha256", .type = MEMBER_SHA256, MEMBER_AT(plugin_declared, sha256)},
    {.name = NULL},
};

/* With "soname": a library of the system, such as "libm.so.6". */
static void check_soname(const plugin *p, const json_node *library, faults *f)
{
    if (!p->declared.foreign)
        faults_add(f, json_get(library, "soname"),
                   "is of a library that is no plugin, want \"foreign\": true beside it");
    for (const json_member *m = file_rows; m->name; m++)
        if (json_get(library, m->name))
            faults_add(f, json_get(library, m->name),
                       "is of a file beside the manifest, which a "
                       "library with a soname is not");
}

static void read_library(plugin *p, const json_node *library, faults *f)
{
    static const json_member *const tables[] = {library_rows, file_rows, NULL};
    json_members_known(library, tables, f);
    json_members_read(library, library_rows, &p->declared, f);
    if (json_get(library, "soname"))
        check_soname(p, library, f);
    else
        json_members_read(library, file_rows, &p->declared, f);
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

/* "1.N" */
static bool is_format(const char *text)
{
    unsigned minor;
    char rest;
    return strlen(text) <= 6 && sscanf(text, "1.%u%c", &minor, &rest) == 1;
}

#define MINOR_TEXT(minor) #minor
#define FORMAT_TEXT(minor) "\"1." MINOR_TEXT(minor) "\""

static const json_member format_rows[] = {
    {.name = "format",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     .fits = is_format,
     .want = FORMAT_TEXT(MANIFEST_MINOR),
     .size = sizeof(const char *)},
    {.name = NULL},
};

/* Of a newer minor than this host's, unknown words become notes, as the format's rules have it. */
static void read_format(const json_node *root, faults *f)
{
    const char *format = NULL;
    json_members_read(root, format_rows, &format, f);
    if (!format || strtoul(format + 2, NULL, 10) <= MANIFEST_MINOR)
        faults_be_lenient(f, NULL, NULL);
}

/* Interfaces that the plugin needs the host to ask its objects for. */
static void check_consumes(const json_node *list, faults *f)
{
    const char *const *known = tables_consumed();
    for (size_t k = 0; k < json_count(list); k++) {
        const char *word = json_string(json_at(list, k));
        size_t m = 0;
        while (known[m] && strcmp(known[m], word) != 0)
            m++;
        if (!known[m])
            faults_add(f, json_at(list, k),
                       "needs a host that asks its objects for %s; this one never does", word);
    }
}

const char *manifest_event(const json_node *node, const char **ret_attribute)
{
    *ret_attribute = json_string(json_get(node, "attribute"));
    return json_type(node) == JSON_OBJECT ? json_string(json_get(node, "name"))
                                          : json_string(node);
}

static const json_member event_rows[] = {
    {.name = "name", .type = MEMBER_STRING, .flags = MEMBER_REQUIRED},
    {.name = "attribute", .type = MEMBER_STRING},
    {.name = NULL},
};

/* Custom events, each a name or an object with a name and the state attribute that counts it. */
static void read_own_events(plugin *p, const json_node *list, faults *f)
{
    const size_t before = faults_count(f);
    for (size_t k = 0; list && k < json_count(list); k++) {
        const json_node *node = json_at(list, k);
        const char *attribute, *name = manifest_event(node, &attribute), *ignored;
        if (json_type(node) == JSON_OBJECT)
            (void)json_object_read(node, "an object", event_rows, NULL, f);
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

static const json_member plugin_rows[] = {
    {.name = "id",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     .fits = is_id,
     .want = "a name such as \"org.example.thing\" of a-z, 0-9, dots, - and _",
     MEMBER_AT(plugin, id)},
    {.name = "version",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     .fits = is_version,
     .want = "a version such as \"1.2.0\"",
     MEMBER_AT(plugin, version)},
    {.name = "license",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(plugin, declared.license)},
    {.name = "vendor", .type = MEMBER_STRING},
    {.name = "url", .type = MEMBER_STRING},
    {.name = "requires", .type = MEMBER_WORDS, MEMBER_AT(plugin, declared.requires_)},
    {.name = "conflicts", .type = MEMBER_WORDS, MEMBER_AT(plugin, declared.conflicts)},
    {.name = "uses", .type = MEMBER_WORDS, MEMBER_AT(plugin, declared.uses)},
    {.name = NULL},
};

/* What is read further. */
typedef struct manifest_parts {
    const json_node *abi;
    const json_node *library;
    const json_node *events;
    const json_node *consumes;
    const json_node *kernels;
    const json_node *handlers;
    const json_node *types;
    const json_node *objects;
} manifest_parts;

static const json_member part_rows[] = {
    {.name = "abi",
     .type = MEMBER_OBJECT,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(manifest_parts, abi)},
    {.name = "library",
     .type = MEMBER_OBJECT,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(manifest_parts, library)},
    {.name = "events", .type = MEMBER_ARRAY, MEMBER_AT(manifest_parts, events)},
    {.name = "consumes", .type = MEMBER_WORDS, MEMBER_AT(manifest_parts, consumes)},
    {.name = "kernels", .type = MEMBER_ARRAY, MEMBER_AT(manifest_parts, kernels)},
    {.name = "handlers", .type = MEMBER_ARRAY, MEMBER_AT(manifest_parts, handlers)},
    {.name = "types", .type = MEMBER_ARRAY, MEMBER_AT(manifest_parts, types)},
    {.name = "objects",
     .type = MEMBER_ARRAY,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(manifest_parts, objects)},
    {.name = NULL},
};

/* Of a newer manifest: words that a host must know. */
static const json_member must_rows[] = {
    {.name = "must_understand", .type = MEMBER_WORDS, .size = sizeof(const json_node *)},
    {.name = NULL},
};

static void read_root(plugin *p, const json_node *root, faults *f)
{
    static const json_member *const tables[] = {format_rows, plugin_rows, part_rows, must_rows,
                                                NULL};
    manifest_parts parts = {0};
    read_format(root, f);
    json_members_known(root, tables, f);
    json_members_read(root, plugin_rows, p, f);
    json_members_read(root, part_rows, &parts, f);
    if (parts.abi)
        read_abi(p, parts.abi, f);
    if (parts.library)
        read_library(p, parts.library, f);
    read_own_events(p, parts.events, f);
    check_consumes(parts.consumes, f);
    if (parts.kernels)
        kernels_read(p, parts.kernels, false, f);
    p->types = ctypes_read(parts.types, f);
    if (parts.handlers && p->types)
        kernels_read(p, parts.handlers, true, f);
    if (p->declared.foreign)
        check_foreign(p, root, f);
    if (parts.objects)
        objects_read(p, parts.objects, f);
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

void manifest_read(plugin *p, faults *f, faults *notes)
{
    const json_node *root = json_root(p->doc), *words = NULL;
    if (!json_want(root, JSON_OBJECT, "an object", f))
        return;
    json_members_read(root, must_rows, &words, f);
    const char **must = json_words(words, f);
    faults_be_lenient(f, notes, must);
    read_root(p, root, f);
    check_minor(root, f);
    p->declared.newer = faults_lenient(f);
    faults_be_lenient(f, NULL, NULL);
    free(must);
}
