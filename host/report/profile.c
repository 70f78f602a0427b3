/* profile.c - where the time of a step went, by a profiler's trace. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profile.h"

#include "base/json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_LIMIT = 256 << 20, DEPTH = 64 };

/* The spans that are open: one thread records them. */
typedef struct open_span {
    const char *name;
    double began;
    double inside; /* of the spans in it that have ended */
} open_span;

/* NULL: no memory. */
static profile_part *find_or_add(profile *p, const char *name)
{
    for (size_t k = 0; k < p->count; k++)
        if (strcmp(p->items[k].name, name) == 0)
            return &p->items[k];
    profile_part *all = realloc(p->items, (p->count + 1) * sizeof *all);
    if (!all)
        return NULL;
    p->items = all;
    all[p->count] = (profile_part){.name = strdup(name)};
    return all[p->count].name ? &all[p->count++] : NULL;
}

/* The span that ends is the last that began with its name; those that it leaves open are dropped.
 * False: no memory for its part. */
static bool end_span(profile *p, open_span *open, size_t *depth, const char *name, double now)
{
    size_t k = *depth;
    while (k > 0 && strcmp(open[k - 1].name, name) != 0)
        k--;
    if (k == 0)
        return true;
    *depth = k - 1;
    const open_span *span = &open[k - 1];
    const double total = now - span->began;
    profile_part *part = find_or_add(p, name);
    if (k > 1)
        open[k - 2].inside += total;
    if (!part)
        return false;
    part->count++;
    part->total += total;
    part->self += total > span->inside ? total - span->inside : 0;
    return true;
}

/* Of a run and an epoch only some batches are recorded: what lies between these is no time of theirs. */
static bool is_around(const char *name)
{
    return strcmp(name, "event/fit") == 0 || strcmp(name, "event/epoch") == 0;
}

static bool take(profile *p, const json_node *events)
{
    open_span open[DEPTH];
    size_t depth = 0;
    for (size_t k = 0; k < json_count(events); k++) {
        const json_node *e = json_at(events, k);
        const char *name = json_string(json_get(e, "name"));
        const char *phase = json_string(json_get(e, "ph"));
        const double now = json_real(json_get(e, "ts"));
        if (!name || !phase || is_around(name))
            continue;
        if (strcmp(phase, "B") == 0 && depth < DEPTH)
            open[depth++] = (open_span){name, now, 0};
        else if (strcmp(phase, "E") == 0 && !end_span(p, open, &depth, name, now))
            return false;
    }
    return true;
}

static int by_self(const void *a, const void *b)
{
    const profile_part *x = a, *y = b;
    return (y->self > x->self) - (y->self < x->self);
}

tutti_status profile_read(profile *p, const char *path, tutti_error *err)
{
    json_doc *doc = NULL;
    tutti_status s = json_read(path, TRACE_LIMIT, &doc, err);
    if (s)
        return s;
    if (!take(p, json_root(doc)))
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its spans", path);
    if (p->count)
        qsort(p->items, p->count, sizeof *p->items, by_self);
    json_free(doc);
    return s;
}

void profile_fini(profile *p)
{
    for (size_t k = 0; k < p->count; k++)
        free(p->items[k].name);
    free(p->items);
    *p = (profile){.items = NULL};
}
