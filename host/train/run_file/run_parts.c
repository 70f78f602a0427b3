/* run_parts.c - objects that a run file names: found, and their settings checked. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Relative paths of overrides count from where one stands.  In the run file that checkpoints and records keep they are
 * absolute. */
static void keep_paths(run_reader *r, const tutti_params *params, const json_node *settings)
{
    for (uint32_t k = 0; params && k < params->count; k++) {
        const tutti_param *p = params->items[k];
        const json_node *given = json_get(settings, p->name);
        tutti_error e = TUTTI_ERROR_INIT;
        if (p->type == TUTTI_PARAM_PATH && p->s && given && json_type(given) == JSON_STRING &&
            json_line(given) == 0 && strcmp(json_string(given), p->s) != 0 &&
            json_override(r->run->source.doc, json_path(given), p->s, &e))
            faults_add(r->faults, given, "%s", e.text);
    }
}

/* The object of that name and its settings, which `settings` (NULL: none are given) has beside the keys to skip. */
static void read_object(run_reader *r, const json_node *name, const json_node *settings,
                        const char *kind, const char *const *skip, run_part *part)
{
    tutti_error e = TUTTI_ERROR_INIT;
    const json_node *id = json_get(settings, "id");
    const char *wanted = part->name;
    part->name = NULL;
    if (registry_find(r->registry, kind, wanted, &part->object, &e)) {
        faults_add(r->faults, name, "%s", e.text);
        return;
    }
    part->name = id && json_string(id) ? json_string(id) : object_describe(part->object)->name;
    part->params = params_from_json(part->object, settings, skip, r->folder, r->faults);
    keep_paths(r, part->params, settings);
    if (part->params && object_check(part->object, part->name, part->params, &e))
        faults_add(r->faults, part->at, "%s", e.text);
}

/* "a" or "an", for a kind. */
static const char *article(const char *kind)
{
    return strchr("aeiou", kind[0]) ? "an" : "a";
}

void run_read_part(run_reader *r, const json_node *at, const char *kind,
                   const char *const *skip, run_part *ret_part)
{
    static const char *const part_skip[] = {"name", "id", NULL};
    char want[96], want_name[64];
    (void)snprintf(want, sizeof want, "an object with the name of %s %s", article(kind), kind);
    (void)snprintf(want_name, sizeof want_name, "the name of %s %s", article(kind), kind);
    const json_member rows[] = {
        {.name = "name",
         .type = MEMBER_STRING,
         .flags = MEMBER_REQUIRED,
         .want = want_name,
         MEMBER_AT(run_part, name)},
        {.name = "id", .type = MEMBER_STRING},
        {.name = NULL},
    };
    *ret_part = (run_part){.at = at};
    if (!json_want(at, JSON_OBJECT, want, r->faults))
        return;
    json_members_read(at, rows, ret_part, r->faults);
    if (ret_part->name)
        read_object(r, json_get(at, "name"), at, kind, skip ? skip : part_skip, ret_part);
}

void run_read_name_or_part(run_reader *r, const json_node *at, const char *kind,
                           run_part *ret_part)
{
    char want[96];
    *ret_part = (run_part){.at = at};
    if (json_type(at) == JSON_STRING) {
        ret_part->name = json_string(at);
        read_object(r, at, NULL, kind, NULL, ret_part);
        return;
    }
    (void)snprintf(want, sizeof want, "the name of %s %s, or an object with it", article(kind),
                   kind);
    if (json_want(at, JSON_OBJECT, want, r->faults))
        run_read_part(r, at, kind, NULL, ret_part);
}

void run_read_parts(run_reader *r, const json_node *at, const char *key, const char *kind,
                    run_parts *ret_parts)
{
    const json_node *list = json_get(at, key);
    char want[64];
    (void)snprintf(want, sizeof want, "an array of %ss", kind);
    ret_parts->items =
        json_array_alloc(list, sizeof *ret_parts->items, want, &ret_parts->count, r->faults);
    for (size_t k = 0; k < ret_parts->count; k++)
        run_read_part(r, json_at(list, k), kind, NULL, &ret_parts->items[k]);
}

void run_part_fini(run_part *part)
{
    params_free(part->params);
    part->params = NULL;
}

void run_parts_fini(run_parts *parts)
{
    for (size_t k = 0; k < parts->count; k++)
        run_part_fini(&parts->items[k]);
    free(parts->items);
}

bool run_has_tag(const object *o, const char *tag)
{
    const char *const *t = object_describe(o)->tags;
    while (t && *t && strcmp(*t, tag) != 0)
        t++;
    return t && *t;
}

/* Keeps the objects that have the tag, or those that have it not. */
static void keep_tagged(run_parts *all, const char *tag, bool has)
{
    size_t kept = 0;
    for (size_t k = 0; k < all->count; k++)
        if (run_has_tag(all->items[k].object, tag) == has)
            all->items[kept++] = all->items[k];
        else
            run_part_fini(&all->items[k]);
    all->count = kept;
}

void run_file_be_quiet(run_file *run)
{
    keep_tagged(&run->participants.loggers, "terminal", false);
}

void run_file_forget_loggers(run_file *run)
{
    keep_tagged(&run->participants.loggers, "terminal", true);
}

void run_file_keep_nothing(run_file *run)
{
    run_file_be_quiet(run);
    run_file_forget_loggers(run);
    keep_tagged(&run->participants.callbacks, "saves", false);
    run->observers.traces.count = 0;
}
