/* run_optimizer.c - a run file's optimizer, and the groups of weights that have settings of their own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_reader.h"

#include <stdlib.h>
#include <string.h>

static const char *const optimizer_skip[] = {"name", "id", "groups", NULL};

static const json_member group_rows[] = {
    {.name = "match",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     .want = "a pattern of weight paths",
     MEMBER_AT(run_group, match)},
    {.name = "frozen", .type = MEMBER_BOOL, MEMBER_AT(run_group, frozen)},
    {.name = NULL},
};

/* Whether `key` is none of the optimizer's settings. */
static bool is_the_groups(const char *key)
{
    return strcmp(key, "match") == 0 || strcmp(key, "frozen") == 0;
}

/* Whether the group names an optimizer of its own: that has the group's settings alone. */
static bool names_another(const json_node *optimizer, const json_node *group)
{
    const char *name = json_string(json_get(group, "name"));
    const char *other = json_string(json_get(optimizer, "name"));
    return name && other && strcmp(name, other) != 0;
}

/* Group settings over the optimizer's own: one object with both, read as its own document. */
static json_doc *merged(run_reader *r, const json_node *optimizer, const json_node *group)
{
    json_doc *doc = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    char *text = names_another(optimizer, group) ? strdup("{}") : json_text(optimizer);
    if (!text || json_parse(json_name(optimizer), text, strlen(text), &doc, &e))
        doc = NULL;
    free(text);
    for (size_t k = 0; doc && k < json_count(group); k++) {
        const json_node *n = json_at(group, k);
        if (is_the_groups(json_key(n)))
            continue;
        char *value = json_text(n);
        if (!value || json_override(doc, json_key(n), value, &e)) {
            json_free(doc);
            doc = NULL;
        }
        free(value);
    }
    if (!doc)
        faults_add_no_memory(r->faults, group);
    return doc;
}

static void read_group(run_reader *r, const json_node *optimizer, const json_node *group,
                       run_group *ret)
{
    ret->match = "*";
    if (!json_want(group, JSON_OBJECT, "an object with \"match\": a pattern of weight paths",
                   r->faults))
        return;
    json_members_read(group, group_rows, ret, r->faults);
    json_doc *doc = merged(r, optimizer, group);
    if (!doc)
        return;
    const size_t before = faults_count(r->faults);
    run_read_part(r, json_root(doc), TUTTI_KIND_OPTIMIZER, optimizer_skip, &ret->part);
    if (faults_count(r->faults) > before)
        faults_add(r->faults, group, "the settings above are those of this group");
    ret->part.at = group;
    ret->part.name = ret->part.object ? object_describe(ret->part.object)->name : NULL;
    json_free(doc);
}

void run_read_optimizer(run_reader *r, const json_node *root)
{
    run_file *run = r->run;
    const json_node *n = json_get(root, "optimizer"), *groups = json_get(n, "groups");
    const size_t more = groups && json_type(groups) == JSON_ARRAY ? json_count(groups) : 0;
    if (!n)
        return;
    if (json_type(n) == JSON_ARRAY) {
        faults_add(
            r->faults, n,
            "is an array of %zu, want one optimizer; use its \"groups\" for weights that "
            "need other settings",
            json_count(n));
        return;
    }
    if (groups)
        (void)json_want(groups, JSON_ARRAY, "an array of groups", r->faults);
    run->groups = calloc(more + 1, sizeof *run->groups);
    if (!run->groups) {
        faults_add_no_memory(r->faults, n);
        return;
    }
    run->ngroups = more + 1;
    for (size_t k = 0; k < more; k++)
        read_group(r, n, json_at(groups, k), &run->groups[k]);
    run->groups[more].match = "*";
    run_read_part(r, n, TUTTI_KIND_OPTIMIZER, optimizer_skip, &run->groups[more].part);
}

void run_optimizer_fini(run_file *run)
{
    for (size_t k = 0; k < run->ngroups; k++)
        run_part_fini(&run->groups[k].part);
    free(run->groups);
}
