/* plugins_check.c - tutti plugins check: every result on stdout, as text or as JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/text.h"
#include "check/check.h"
#include "cli/cli.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECONDS = 60 };

static const char *const outcomes[] = {
    [CHECK_PASSED] = "passed", [CHECK_FAILED] = "failed", [CHECK_NOT_TRIED] = "not tried"};

/* What has been told so far. */
typedef struct listing {
    bool json;
    bool lacks;         /* memory, for a result */
    int counts[3];      /* by outcome */
    int printed;        /* results of the plugin under way */
    const char *object; /* whose results come now */
    const char *kind;
} listing;

static void tell_json(listing *l, const check_result *r)
{
    text_buffer b = {0};
    text_add(&b, "%s\n    {\"check\": \"%s\", \"outcome\": \"%s\"", l->printed ? "," : "",
             check_name(r->check), outcomes[r->outcome]);
    if (r->object)
        text_add(&b, ", \"kind\": \"%s\", \"object\": \"%s\"", r->kind, r->object);
    if (*r->text) {
        text_add(&b, ", \"text\": ");
        text_add_quoted(&b, r->text);
    }
    text_add(&b, "}");
    l->lacks = l->lacks || b.failed;
    (void)fputs(b.failed ? "" : b.data, stdout);
    free(b.data);
}

static void tell(void *ctx, const check_result *r)
{
    listing *l = ctx;
    if (l->json)
        tell_json(l, r);
    else {
        if (r->object && (r->object != l->object || r->kind != l->kind))
            (void)printf("  %s %s\n", r->kind, r->object);
        (void)printf("%s%-9s %-12s%s%s\n", r->object ? "    " : "  ", outcomes[r->outcome],
                     check_name(r->check), *r->text ? r->text : check_text(r->check), "");
        (void)cli_flush();
    }
    l->object = r->object;
    l->kind = r->kind;
    l->counts[r->outcome]++;
    l->printed++;
}

/* Where a plugin lies, and the folder to search. */
typedef struct place {
    char folder[PATH_MAX]; /* of the plugin, or of plugins */
    char search[PATH_MAX];
    bool one;
} place;

static bool find_place(const char *path, place *ret)
{
    char manifest[PATH_MAX + 16];
    struct stat s;
    if (!realpath(path, ret->folder) || stat(ret->folder, &s) != 0) {
        (void)fprintf(stderr, "tutti: %s: there is no such plugin\n", path);
        return false;
    }
    if (!S_ISDIR(s.st_mode)) /* its library or its manifest */
        *strrchr(ret->folder, '/') = '\0';
    (void)snprintf(manifest, sizeof manifest, "%s/plugin.json", ret->folder);
    ret->one = access(manifest, F_OK) == 0;
    (void)snprintf(ret->search, sizeof ret->search, "%s", ret->folder);
    if (ret->one && strrchr(ret->search, '/') > ret->search)
        *strrchr(ret->search, '/') = '\0';
    return true;
}

static registry *open_registry(const cli_options *o, const char *search)
{
    const char *paths[CLI_MAX_OPTIONS + 2] = {search};
    for (size_t k = 0; k < o->npaths; k++)
        paths[k + 1] = o->plugin_paths[k];
    registry_options options = cli_registry_options(o);
    options.plugin_paths = paths;
    registry *r;
    tutti_error e = TUTTI_ERROR_INIT;
    if (registry_create(&options, &r, &e) == TUTTI_OK)
        return r;
    (void)fprintf(stderr, "tutti: %s\n", e.text);
    return NULL;
}

static bool is_in(const place *where, const char *folder)
{
    const size_t n = strlen(where->folder);
    return strncmp(folder, where->folder, n) == 0 &&
           (where->one ? folder[n] == '\0' : folder[n] == '/');
}

/* False: memory or the system failed, which has been said. */
static bool check_one(const check_options *options, size_t k, listing *l, bool first)
{
    plugin_info p;
    tutti_error e = TUTTI_ERROR_INIT;
    registry_plugin(options->registry, k, &p);
    l->printed = 0;
    l->object = l->kind = NULL;
    if (l->json) {
        text_buffer b = {0};
        text_add(&b, "%s\n  {\"id\": ", first ? "" : ",");
        text_add_quoted(&b, p.id);
        text_add(&b, ", \"version\": ");
        text_add_quoted(&b, p.version);
        text_add(&b, ", \"folder\": ");
        text_add_quoted(&b, p.folder);
        l->lacks = l->lacks || b.failed;
        (void)printf("%s, \"results\": [", b.failed ? "" : b.data);
        free(b.data);
    } else
        (void)printf("%s %s\n", p.id, p.version);
    const tutti_status s = check_plugin(options, k, &e);
    if (l->json)
        (void)printf("]}");
    if (s)
        (void)fprintf(stderr, "tutti: %s\n", e.text);
    else if (l->lacks)
        (void)fprintf(stderr, "tutti: no memory for what is printed\n");
    return !s && !l->lacks;
}

/* Whether the file of --run can be used; said before anything is run. */
static bool members_are_read(const char *path)
{
    json_doc *members = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    if (path && json_read(path, CHECK_RUN_BYTES, &members, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        return false;
    }
    json_free(members);
    return true;
}

int plugins_check(const cli_options *o, const tutti_op *const *ops)
{
    place where;
    listing l = {.json = o->json};
    if (!find_place(o->words[1], &where) || !members_are_read(o->checking.members))
        return CLI_USAGE;
    registry *r = open_registry(o, where.search);
    if (!r)
        return CLI_USAGE;
    const check_options options = {.registry = r,
                                   .ops = ops,
                                   .run = o->checking.members,
                                   .device = o->checking.device,
                                   .seconds = SECONDS,
                                   .tell = tell,
                                   .ctx = &l};
    size_t found = 0;
    bool good = true;
    (void)printf("%s", o->json ? "{\"plugins\": [" : "");
    for (size_t k = 0; k < registry_plugin_count(r) && good; k++) {
        plugin_info p;
        registry_plugin(r, k, &p);
        if (is_in(&where, p.folder))
            good = check_one(&options, k, &l, found++ == 0);
    }
    if (o->json)
        (void)printf("],\n \"passed\": %d, \"failed\": %d, \"not_tried\": %d}\n", l.counts[0],
                     l.counts[1], l.counts[2]);
    else
        (void)printf("%d checks passed, %d failed, %d were not tried\n", l.counts[0],
                     l.counts[1], l.counts[2]);
    registry_destroy(r);
    if (found && good)
        return l.counts[CHECK_FAILED] ? CLI_FAILED : CLI_OK;
    if (!found)
        (void)fprintf(stderr, "tutti: %s: there is no plugin that may be looked at\n",
                      o->words[1]);
    return found ? CLI_FAILED : CLI_USAGE;
}
