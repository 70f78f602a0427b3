/* docs_complete.c - tutti docs complete: what the last word of a command line may become. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/docs/docs.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A command line: the words after the program's name.  The last one is under the cursor. */
typedef struct line {
    const char *const *words;
    size_t count;
    const char *word; /* what is to be completed: the last one, or what stands behind its = */
    const cli_command *const *commands;
    const tutti_op *const *ops;
} line;

static void offer(const line *l, const char *text, const char *doc)
{
    if (strncmp(text, l->word, strlen(l->word)) == 0)
        (void)printf("%s\t%s\n", text, doc ? doc : "");
}

static void offer_commands(const line *l)
{
    for (size_t k = 0; l->commands[k]; k++)
        offer(l, l->commands[k]->name, l->commands[k]->summary);
}

/* Names of objects of that kind, or of all; plugins of --plugin-path of this line are among them. */
static void offer_objects(const line *l, const char *kind)
{
    cli_options o;
    memset(&o, 0, sizeof o);
    for (size_t k = 0; k + 1 < l->count; k++)
        if (strncmp(l->words[k], "--plugin-path=", 14) == 0)
            o.plugin_paths[o.npaths++] = l->words[k] + 14;
        else if (strcmp(l->words[k], "--plugin-path") == 0 && k + 2 < l->count)
            o.plugin_paths[o.npaths++] = l->words[k + 1];
    registry *r = cli_registry(&o);
    for (size_t k = 0; r && k < registry_plugin_count(r); k++) {
        plugin_info p;
        registry_plugin(r, k, &p);
        for (size_t n = 0; n < p.nobjects; n++) {
            const object_info *one = object_describe(p.objects[n]);
            if (!kind || strcmp(one->kind, kind) == 0)
                offer(l, one->name, one->doc);
        }
    }
    registry_destroy(r);
}

/* The entries of a folder of share/tutti, without `suffix`; entries without it are left out. */
static void offer_shared(const line *l, const char *below, const char *suffix)
{
    char path[PATH_MAX];
    struct dirent **entries = NULL;
    const int n =
        cli_share(below, path, sizeof path) ? scandir(path, &entries, NULL, alphasort) : 0;
    for (int k = 0; k < n; k++) {
        const size_t size = strlen(entries[k]->d_name), cut = strlen(suffix);
        char *end = size > cut ? entries[k]->d_name + size - cut : NULL;
        if (end && strcmp(end, suffix) == 0 && *entries[k]->d_name != '.' &&
            strcmp(entries[k]->d_name, "common") != 0) {
            *end = '\0';
            offer(l, entries[k]->d_name, NULL);
        }
        free(entries[k]);
    }
    free(entries);
}

/* The words in small letters of "auto|FILE", "c|cpp". */
static void offer_listed(const line *l, const char *value)
{
    char word[32];
    for (const char *at = value; at && *at; at += strcspn(at, "|"), at += *at == '|') {
        const size_t n = strcspn(at, "|");
        if (strspn(at, "abcdefghijklmnopqrstuvwxyz") == n && n < sizeof word) {
            (void)snprintf(word, sizeof word, "%.*s", (int)n, at);
            offer(l, word, NULL);
        }
    }
}

static void offer_devices(const line *l)
{
    offer(l, "auto", "a GPU where there is one, else the CPU");
    offer(l, "cpu", "the host's own");
    offer(l, "cuda", "NVIDIA's GPUs");
    offer_objects(l, TUTTI_KIND_DEVICE);
}

static void offer_kind(const line *l, int kind)
{
    switch (kind) {
    case CLI_VALUE_RUN:
        offer_shared(l, "recipes", ".json");
        (void)printf(":file\n");
        break;
    case CLI_VALUE_FILE:
        (void)printf(":file\n");
        break;
    case CLI_VALUE_FOLDER:
        (void)printf(":folder\n");
        break;
    case CLI_VALUE_COMMAND:
        offer_commands(l);
        break;
    case CLI_VALUE_DEVICE:
        offer_devices(l);
        break;
    case CLI_VALUE_KIND:
        offer_shared(l, "templates/c", "");
        break;
    case CLI_VALUE_OBJECT:
        offer_objects(l, NULL);
        break;
    case CLI_VALUE_LAYER:
        offer_objects(l, TUTTI_KIND_LAYER);
        break;
    case CLI_VALUE_OP:
        for (size_t k = 0; l->ops[k]; k++)
            offer(l, l->ops[k]->name, NULL);
        break;
    default:
        break;
    }
}

static void offer_options(const line *l, const cli_command *c)
{
    char name[64];
    for (const cli_option *o = cli_option_table; o->name; o++)
        if (o->group & c->takes) {
            (void)snprintf(name, sizeof name, "--%s", o->name);
            offer(l, name, o->doc);
        }
    offer(l, "--help", "Prints this text");
    offer(l, "--version", "Prints the program's version");
}

/* The option with a value that `word` begins with or is, or NULL. */
static const cli_option *valued(const cli_command *c, const char *word)
{
    const size_t n = strcspn(word, "=");
    if (strncmp(word, "--", 2) != 0)
        return NULL;
    for (const cli_option *o = cli_option_table; o->name; o++)
        if ((o->group & c->takes) && o->value && strlen(o->name) == n - 2 &&
            strncmp(word + 2, o->name, n - 2) == 0)
            return o;
    return NULL;
}

static void offer_value(const line *l, const cli_option *o)
{
    offer_listed(l, o->value);
    offer_kind(l, o->kind);
}

/* The command's argument after `nwords` others, the first of them `first`. */
static void offer_argument(const line *l, const cli_command *c, const char *first,
                           size_t nwords)
{
    const cli_use *u = first ? cli_find_use(c, first) : NULL;
    if (c->uses && !nwords)
        for (u = c->uses; u->name; u++)
            offer(l, u->name, u->doc);
    else if (u && nwords <= u->most)
        offer_kind(l, u->kind);
    else if (!c->uses && nwords < c->most)
        offer_kind(l, c->kind);
}

static void complete_command(line *l, const cli_command *c)
{
    const char *first = NULL;
    size_t nwords = 0, k = 1;
    bool plain = false; /* behind -- */
    for (; k + 1 < l->count; k++) {
        const char *word = l->words[k];
        if (!plain && strcmp(word, "--") == 0)
            plain = true;
        else if (plain || *word != '-') {
            first = nwords++ ? first : word;
        } else if (!strchr(word, '=') && valued(c, word)) {
            if (k + 2 == l->count) {
                offer_value(l, valued(c, word));
                return;
            }
            k++;
        }
    }
    const cli_option *o = plain ? NULL : valued(c, l->word);
    const char *equals = strchr(l->word, '=');
    if (o && equals) {
        l->word = equals + 1;
        offer_value(l, o);
    } else if (!plain && *l->word == '-')
        offer_options(l, c);
    else
        offer_argument(l, c, first, nwords);
}

int docs_complete(const cli_options *o, const tutti_op *const *ops)
{
    line l = {o->words + 1, o->nwords - 1, o->words[o->nwords - 1], o->commands, ops};
    const cli_command *c = cli_find_command(l.commands, l.words[0]);
    if (l.count == 1) {
        offer_commands(&l);
        offer(&l, "help", "tell more of a command");
        offer(&l, "--help", "list the commands");
        offer(&l, "--version", "print the program's version");
    } else if (l.count == 2 && strcmp(l.words[0], "help") == 0)
        offer_commands(&l);
    else if (c)
        complete_command(&l, c);
    return CLI_OK;
}
