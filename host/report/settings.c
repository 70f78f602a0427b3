/* settings.c - run files as flat lists of settings, side by side. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 512 };

typedef struct gathering {
    settings *to;
    size_t run;
    bool nomem;
} gathering;

static setting *find_or_add(gathering *g, const char *path)
{
    settings *s = g->to;
    for (size_t k = 0; k < s->count; k++)
        if (strcmp(s->items[k].path, path) == 0)
            return &s->items[k];
    setting *all = realloc(s->items, (s->count + 1) * sizeof *all);
    if (!all)
        return NULL;
    s->items = all;
    all[s->count] = (setting){strdup(path), calloc(s->nruns, sizeof(char *))};
    if (!all[s->count].path || !all[s->count].values) {
        free(all[s->count].path);
        free(all[s->count].values);
        return NULL;
    }
    return &all[s->count++];
}

static void add(gathering *g, const char *path, const json_node *value)
{
    setting *s = find_or_add(g, path);
    char *text =
        json_type(value) == JSON_STRING ? strdup(json_string(value)) : json_text(value);
    if (!s || !text || s->values[g->run]) {
        g->nomem = g->nomem || !s || !text;
        free(text);
        return;
    }
    s->values[g->run] = text;
}

/* What an item of a list is known by: its name, as algorithms have, or its label; else its place. */
static const char *name_of(const json_node *item, size_t k, char *number, size_t size)
{
    static const char *const keys[] = {"id", "label", "name"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *name = json_string(json_get(item, keys[i]));
        if (name)
            return name;
    }
    (void)snprintf(number, size, "%zu", k);
    return number;
}

/* Lists of plain values are one setting. */
static bool has_objects(const json_node *list)
{
    return json_count(list) > 0 && json_type(json_at(list, 0)) == JSON_OBJECT;
}

static void flatten(gathering *g, const char *path, const json_node *node)
{
    char below[PATH_SIZE], number[24];
    const int type = json_type(node);
    const bool object = type == JSON_OBJECT && json_count(node) > 0;
    if (!object && !(type == JSON_ARRAY && has_objects(node))) {
        add(g, path, node);
        return;
    }
    for (size_t k = 0; k < json_count(node); k++) {
        const json_node *item = json_at(node, k);
        (void)snprintf(below, sizeof below, "%.400s%s%.100s", path, *path ? "." : "",
                       object ? json_key(item) : name_of(item, k, number, sizeof number));
        flatten(g, below, item);
    }
}

static bool differs(const setting *s, size_t n)
{
    for (size_t k = 1; k < n; k++) {
        const char *a = s->values[0], *b = s->values[k];
        if (!a != !b || (a && strcmp(a, b) != 0))
            return true;
    }
    return false;
}

static void drop(setting *s, size_t n)
{
    for (size_t k = 0; k < n; k++)
        free(s->values[k]);
    free(s->values);
    free(s->path);
}

static void keep_differences(settings *s)
{
    size_t kept = 0;
    for (size_t k = 0; k < s->count; k++)
        if (strcmp(s->items[k].path, "name") != 0 && differs(&s->items[k], s->nruns))
            s->items[kept++] = s->items[k];
        else
            drop(&s->items[k], s->nruns);
    s->count = kept;
}

tutti_status settings_compare(const run_folder *runs, size_t n, bool all, settings *ret,
                              tutti_error *err)
{
    *ret = (settings){.nruns = n};
    gathering g = {.to = ret};
    for (; g.run < n && !g.nomem; g.run++)
        flatten(&g, "", json_get(runs[g.run].root, "run"));
    if (g.nomem) {
        settings_fini(ret);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory to compare %zu runs", n);
    }
    if (!all)
        keep_differences(ret);
    return TUTTI_OK;
}

void settings_fini(settings *s)
{
    for (size_t k = 0; k < s->count; k++)
        drop(&s->items[k], s->nruns);
    free(s->items);
    *s = (settings){.items = NULL};
}
