/* plugins.c - tutti plugins: the uses of it, and where plugins are, their hashes, and what is trusted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>

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
     0, 0, plugins_list},
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
     1, 1, plugins_info},
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
            "             there is no memory to load a plugin, or a limit forbids it,\n"
            "             2 wrong usage, no such object or plugin.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_CHECK | CLI_TAKES_NEW | CLI_TAKES_SIGN,
    .uses = uses,
};
