/* plugins_info.c - tutti plugins list and info: each plugin with its verdict, or one object's events and settings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "check/check.h"
#include "cli/cli.h"
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool nth_handler(const registry *r, size_t k, size_t n, handler_info *ret_info)
{
    const handler *h = registry_handler(r, k, n);
    if (h)
        handler_describe(h, ret_info);
    return h != NULL;
}

static const char *kind_of(const handler_info *h)
{
    return h->filter ? "filter" : "handler";
}

/* Whether the host has an operation of its own by that name. */
static bool is_own_op(const tutti_op *const *ops, const object_info *o)
{
    while (*ops && strcmp((*ops)->name, o->name) != 0)
        ops++;
    return *ops && strcmp(o->kind, TUTTI_KIND_OP) == 0;
}

/* Plugins of which this process cannot find out whether they load. */
typedef struct unknown {
    size_t count;
    char why[640]; /* of the first */
} unknown;

/* Why the plugin cannot be used, on a line of its own. */
static void print_verdict(registry *r, size_t k, const plugin_info *p, unknown *u)
{
    char text[sizeof u->why];
    const tutti_status s = p->fault ? TUTTI_OK : check_loads(r, k, text, sizeof text);
    if (p->fault)
        (void)printf("  not usable: %s\n", p->fault);
    else if (s)
        (void)printf("  cannot be loaded: %s\n", text);
    if (s && s != TUTTI_E_FAIL && u->count++ == 0)
        memcpy(u->why, text, sizeof u->why);
}

int plugins_list(const cli_options *o, const tutti_op *const *ops)
{
    registry *r = cli_registry(o);
    unknown u = {0, ""};
    if (!r)
        return CLI_USAGE;
    for (size_t k = 0; k < registry_plugin_count(r); k++) {
        plugin_info p;
        registry_plugin(r, k, &p);
        (void)printf("%s %s", p.id, p.version);
        for (size_t i = 0; i < p.nobjects; i++) {
            const object_info *info = object_describe(p.objects[i]);
            const char *other = registry_hidden_by(r, p.objects[i]);
            (void)printf("%s %s %s", i ? "," : ":", info->kind, info->name);
            if (is_own_op(ops, info))
                other = "the host";
            if (other)
                (void)printf(" (as %s:%s; the name alone is %s's)", p.id, info->name, other);
        }
        handler_info h;
        for (size_t n = 0; nth_handler(r, k, n, &h); n++)
            (void)printf("%s %s %s", n || p.nobjects ? "," : ":", kind_of(&h), h.name);
        (void)printf("\n");
        print_verdict(r, k, &p, &u);
    }
    if (u.count)
        (void)fprintf(stderr,
                      "tutti: %zu of %zu plugins cannot be loaded by this process: %s\n",
                      u.count, registry_plugin_count(r), u.why);
    registry_destroy(r);
    return u.count ? CLI_FAILED : CLI_OK;
}

static void add_value(text_buffer *b, const char *before, const json_node *value)
{
    char *text = json_text(value);
    b->failed = b->failed || !text;
    text_add(b, "%s%s", before, text ? text : "");
    free(text);
}

static bool is_bound(const char *key)
{
    static const char *const bounds[] = {"min",    "max",   "above", "below",
                                         "values", "units", "scalar"};
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++)
        if (strcmp(key, bounds[k]) == 0)
            return true;
    return false;
}

static void add_param(text_buffer *b, const json_node *p)
{
    const json_node *type = json_get(p, "type"), *doc = json_get(p, "doc");
    const json_node *unit = json_get(p, "unit"), *fallback = json_get(p, "default");
    text_add(b, "  %s (%s%s%s", json_key(p), type ? json_string(type) : "?", unit ? ", " : "",
             unit ? json_string(unit) : "");
    if (fallback)
        add_value(b, ", default ", fallback);
    else
        text_add(b, json_get(p, "required") ? ", required" : ", may be null");
    for (size_t m = 0; m < json_count(p); m++) {
        const char *key = json_key(json_at(p, m));
        if (!is_bound(key))
            continue;
        text_add(b, ", %s", key);
        add_value(b, " ", json_at(p, m));
    }
    text_add(b, ")%s%s\n", doc ? ": " : "", doc ? json_string(doc) : "");
}

static void add_events(text_buffer *b, const object *what)
{
    const object_info *o = object_describe(what);
    char *when;
    if (!o->nevents)
        return;
    text_add(b, "hears:");
    for (size_t k = 0; k < o->nevents; k++)
        text_add(b, " %s", event_name(o->events[k]));
    text_add(b, "\n");
    for (size_t k = 0; k < o->nevents; k++)
        if (object_when(what, k, &when)) {
            b->failed = b->failed || !when;
            text_add(b, "  %s when %s\n", event_name(o->events[k]), when ? when : "");
            free(when);
        }
}

/* False: no memory for what is printed. */
static bool print_object(const object *what)
{
    const object_info *o = object_describe(what);
    text_buffer b = {0};
    text_add(&b, "%s: %s of %s %s\n  %s\n", o->name, o->kind, o->plugin_id, o->plugin_version,
             o->doc ? o->doc : "");
    add_events(&b, what);
    text_add(&b, "settings:\n");
    for (size_t k = 0; o->params && k < json_count(o->params); k++)
        add_param(&b, json_at(o->params, k));
    const bool whole = !b.failed;
    if (whole)
        (void)fputs(b.data, stdout);
    free(b.data);
    if (whole && strcmp(o->kind, TUTTI_KIND_DEVICE) == 0)
        cli_print_devices(what, o->name);
    return whole;
}

/* Whether `name` is a device of the host's own. */
static bool print_own(const char *name)
{
    const bool cuda = strcmp(name, "cuda") == 0;
    if (!cuda && strcmp(name, "cpu") != 0)
        return false;
    (void)printf("%s: device of the host\n  %s\n", name,
                 cuda ? "NVIDIA's GPUs, from compute capability 8.0 up."
                      : "Runs everything at once, in the host's memory.");
    cli_print_devices(NULL, name);
    return true;
}

static void print_handler(const handler_info *h)
{
    (void)printf("%s(", h->name);
    for (uint32_t k = 0; k < h->nargs; k++)
        (void)printf("%s%s %s", k ? ", " : "", h->arg_types[k], h->arg_names[k]);
    const bool plain = strcmp(h->returns, "status") == 0;
    const bool place = h->value_path != NULL;
    (void)printf(")%s%s%s%s: %s of %s\n  %s\n", plain && !place ? "" : " gives ",
                 place ? h->value_path : "", place ? " of " : "",
                 plain && !place ? "" : h->returns, kind_of(h), h->plugin_id,
                 h->doc ? h->doc : "");
}

/* How many objects and functions of that name, or of the plugin of that id, it has printed; -1: no memory for one. */
static int print_named(const registry *r, const char *name)
{
    int found = 0;
    for (size_t k = 0; k < registry_plugin_count(r); k++) {
        plugin_info p;
        registry_plugin(r, k, &p);
        const int whole = strcmp(p.id, name) == 0, before = found;
        for (size_t o = 0; o < p.nobjects; o++) {
            const object_info *one = object_describe(p.objects[o]);
            if (whole || strcmp(one->name, name) == 0) {
                if (!print_object(p.objects[o]))
                    return -1;
                found++;
            }
        }
        handler_info h;
        for (size_t n = 0; nth_handler(r, k, n, &h); n++)
            if (whole || strcmp(h.name, name) == 0) {
                print_handler(&h);
                found++;
            }
        if (p.fault && (whole || found > before))
            (void)printf("not usable: %s\n", p.fault);
    }
    return found;
}

int plugins_info(const cli_options *o, const tutti_op *const *ops)
{
    registry *r = cli_registry(o);
    const char *name = o->words[1];
    if (!r)
        return CLI_USAGE;
    const bool own = print_own(name);
    const int named = print_named(r, name);
    registry_destroy(r);
    if (named < 0) {
        (void)fprintf(stderr, "tutti: no memory for what is printed of %s\n", name);
        return CLI_FAILED;
    }
    const bool found = own || named;
    if (!found)
        (void)fprintf(stderr,
                      "tutti: no plugin has an object %s; `tutti plugins list` shows all\n",
                      name);
    return found ? CLI_OK : CLI_USAGE;
}
