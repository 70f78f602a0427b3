/* plugins.c - tutti plugins: list them with their verdicts, or describe one object. */
/* SPDX-License-Identifier: Apache-2.0 */
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

static int list(const cli_options *o, const tutti_op *const *ops)
{
    registry *r = cli_registry(o);
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
        char text[640];
        if (p.fault)
            (void)printf("  not usable: %s\n", p.fault);
        else if (!check_loads(r, k, text, sizeof text))
            (void)printf("  cannot be loaded: %s\n", text);
    }
    registry_destroy(r);
    return CLI_OK;
}

static int path(const cli_options *o, const tutti_op *const *ops)
{
    static const char *const states[] = {
        [REGISTRY_ABSENT] = "not there", [REGISTRY_REFUSED] = "not trusted"};
    registry *r = cli_registry(o);
    const int status = r ? CLI_OK : CLI_USAGE;
    const char *folder;
    int state;
    size_t plugins;
    for (size_t k = 0; r && (folder = registry_place(r, k, &state, &plugins)); k++)
        if (state == REGISTRY_READ)
            (void)printf("%s: %zu %s\n", folder, plugins, plugins == 1 ? "plugin" : "plugins");
        else
            (void)printf("%s: %s\n", folder, states[state]);
    registry_destroy(r);
    return status;
}

static void print_params(const object_info *o)
{
    for (size_t k = 0; o->params && k < json_count(o->params); k++) {
        const json_node *p = json_at(o->params, k);
        const json_node *type = json_get(p, "type"), *doc = json_get(p, "doc");
        const json_node *unit = json_get(p, "unit"), *fallback = json_get(p, "default");
        char *value = fallback ? json_text(fallback) : NULL;
        (void)printf("  %s (%s%s%s", json_key(p), type ? json_string(type) : "?",
                     unit ? ", " : "", unit ? json_string(unit) : "");
        if (value)
            (void)printf(", default %s", value);
        else
            (void)printf(json_get(p, "required") ? ", required" : ", may be null");
        for (size_t m = 0; m < json_count(p); m++) {
            const char *key = json_key(json_at(p, m));
            if (strcmp(key, "min") && strcmp(key, "max") && strcmp(key, "above") &&
                strcmp(key, "below") && strcmp(key, "values") && strcmp(key, "units") &&
                strcmp(key, "scalar"))
                continue;
            char *bound = json_text(json_at(p, m));
            (void)printf(", %s %s", key, bound ? bound : "?");
            free(bound);
        }
        (void)printf(")%s%s\n", doc ? ": " : "", doc ? json_string(doc) : "");
        free(value);
    }
}

static void print_object(const object *what)
{
    const object_info *o = object_describe(what);
    (void)printf("%s: %s of %s %s\n  %s\n", o->name, o->kind, o->plugin_id, o->plugin_version,
                 o->doc ? o->doc : "");
    if (o->nevents) {
        (void)printf("hears:");
        for (size_t k = 0; k < o->nevents; k++)
            (void)printf(" %s", event_name(o->events[k]));
        (void)printf("\n");
        for (size_t k = 0; k < o->nevents; k++) {
            char *when = object_when(what, k);
            if (when)
                (void)printf("  %s when %s\n", event_name(o->events[k]), when);
            free(when);
        }
    }
    (void)printf("settings:\n");
    print_params(o);
    if (strcmp(o->kind, TUTTI_KIND_DEVICE) == 0)
        cli_print_devices(what, o->name);
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

/* How many objects and functions of that name, or of the plugin of that id, it has printed. */
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
                print_object(p.objects[o]);
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

static int info(const cli_options *o, const tutti_op *const *ops)
{
    registry *r = cli_registry(o);
    const char *name = o->words[1];
    if (!r)
        return CLI_USAGE;
    const int found = print_own(name) + print_named(r, name);
    registry_destroy(r);
    if (!found)
        (void)fprintf(stderr,
                      "tutti: no plugin has an object %s; `tutti plugins list` shows all\n",
                      name);
    return found ? CLI_OK : CLI_USAGE;
}

static bool lock_file(const char *path)
{
    char hex[REGISTRY_HEX_SIZE];
    tutti_error e = TUTTI_ERROR_INIT;
    if (registry_sha256(path, hex, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        return false;
    }
    (void)printf("%s  %s\n", hex, path);
    return true;
}

/* The files of one plugin. */
static bool lock_plugin(const registry *r, size_t k)
{
    plugin_info p;
    registry_plugin(r, k, &p);
    bool good = true;
    for (size_t n = 0; good && !p.fault && registry_file(r, k, n); n++)
        good = lock_file(registry_file(r, k, n));
    return good;
}

static int lock(const cli_options *o, const tutti_op *const *ops)
{
    registry *r = cli_registry(o);
    int status = r ? CLI_OK : CLI_USAGE;
    for (size_t k = 0; status == CLI_OK && k < registry_plugin_count(r); k++)
        status = lock_plugin(r, k) ? CLI_OK : CLI_FAILED;
    registry_destroy(r);
    return status;
}

static int trust(const cli_options *o, const tutti_op *const *ops)
{
    registry *r = cli_registry(o);
    char *text = r ? registry_trust(r) : NULL;
    if (r && !text)
        (void)fprintf(stderr, "tutti: no memory to say what is trusted\n");
    (void)fputs(text ? text : "", stdout);
    free(text);
    registry_destroy(r);
    return !r ? CLI_USAGE : text ? CLI_OK : CLI_FAILED;
}

static const cli_use uses[] = {
    {"list", "", CLI_VALUE_NONE,
     "prints every plugin on the search path with its objects, or why it cannot be used; each "
     "is loaded in a child process to see whether it can be.",
     0, 0, list},
    {"path", "", CLI_VALUE_NONE,
     "prints the folders that are searched, in order, and how many plugins each gives: those "
     "of --plugin-path and TUTTI_ADD_PLUGIN_PATH; then those of TUTTI_PLUGIN_PATH or, where it "
     "is not set, the user's own, /etc/tutti/plugins.d, tutti/plugins in /usr/local/lib and "
     "/usr/lib, and the program's.",
     0, 0, path},
    {"lock", "", CLI_VALUE_NONE,
     "prints the SHA-256 of every usable plugin's files; with --plugin-lock FILE every command "
     "uses these plugins in these versions and no other.",
     0, 0, lock},
    {"trust", "", CLI_VALUE_NONE,
     "prints what is trusted and why: the policies in force (policy.json in /etc/tutti and "
     "~/.config/tutti, or in the folders of TUTTI_CONFIG_PATH, and --plugin-policy; any, "
     "owner, "
     "pinned or signed), the public keys in trusted.d beside them, variables that the system's "
     "loader listens to, and what holds for each plugin.",
     0, 0, trust},
    {"keygen", "NAME", CLI_VALUE_ANY,
     "makes a pair of keys in minisign's format: NAME.key, which is secret and encrypted with "
     "a "
     "password, and NAME.pub.",
     1, 1, plugins_keygen},
    {"sign", "FOLDER", CLI_VALUE_FOLDER,
     "signs a plugin's folder with the secret key of --key: writes the SHA-256 of all its "
     "files "
     "into plugin.sums and the signature of that into plugin.sums.minisig.",
     1, 1, plugins_sign},
    {"verify", "FOLDER", CLI_VALUE_FOLDER,
     "verifies that signature with the trusted keys, or that of --key, and that the folder has "
     "these files and no other.",
     1, 1, plugins_verify},
    {"info", "NAME", CLI_VALUE_OBJECT,
     "prints what a plugin's manifest says of the object NAME: events, settings, defaults; of "
     "a device also what is there.  cpu and cuda are the host's own devices.",
     1, 1, info},
    {"check", "PATH", CLI_VALUE_FILE,
     "holds the plugin at PATH, or every plugin in that folder, to the contract (CONTRACT.md "
     "of the SDK): each object is opened, called and trained with, in child processes.",
     1, 1, plugins_check},
    {"new", "NAME", CLI_VALUE_ANY,
     "makes the folder NAME with a plugin that builds, its test and a README, out of the SDK's "
     "templates.",
     1, 1, plugins_new},
    {NULL, NULL, 0, NULL, 0, 0, NULL}};

const cli_command cli_plugins = {
    .name = "plugins",
    .kind = CLI_VALUE_ANY,
    .summary = "list plugins, describe, check or begin one",
    .doc = "Says what plugins there are, holds them to the contract, begins a new one.",
    .more = "Exit status: 0 done, 1 a file cannot be read, a check failed,\n"
            "             2 wrong usage, no such object or plugin.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_CHECK | CLI_TAKES_NEW | CLI_TAKES_SIGN,
    .uses = uses,
};
