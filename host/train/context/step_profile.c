/* step_profile.c - steps of plans as spans of the time line, summed by operation. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/step_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The operation's row, a new one where there is none; NULL: no memory. */
static step_row *row_of(step_profile *s, const char *name)
{
    for (size_t k = 0; k < s->nrows; k++)
        if (strcmp(s->rows[k].name, name) == 0)
            return &s->rows[k];
    if (s->nrows == s->capacity) {
        const size_t capacity = s->capacity ? 2 * s->capacity : 64;
        step_row *rows = realloc(s->rows, capacity * sizeof *rows);
        if (!rows)
            return NULL;
        s->rows = rows;
        s->capacity = capacity;
    }
    step_row *row = &s->rows[s->nrows++];
    *row = (step_row){.count = 0};
    (void)snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

static void count(step_profile *s, const program_step *step, int64_t ns)
{
    step_row *row = row_of(s, step->name);
    s->lost = s->lost || !row;
    if (!row)
        return;
    row->count++;
    row->ns += ns;
    row->flops += step->flops;
    row->bytes += (double)step->bytes;
    if (step->live <= s->peak)
        return;
    s->peak = step->live;
    (void)snprintf(s->peak_name, sizeof s->peak_name, "%s", step->name);
    (void)snprintf(s->peak_scope, sizeof s->peak_scope, "%s", step->scope);
}

static void ran(void *ctx, const program *p, uint32_t k, int64_t begin_ns, int64_t end_ns)
{
    step_profile *s = ctx;
    char name[112], categories[192];
    program_step step;
    program_describe(p, k, &step);
    (void)snprintf(name, sizeof name, "op/%s", step.name);
    (void)snprintf(categories, sizeof categories, "op%s%s", *step.scope ? "," : "", step.scope);
    profiler_span(s->profiler, name, categories, begin_ns, end_ns);
    const tutti_named_value live = {"live_mb", (double)step.live * 1e-6};
    profiler_count(s->profiler, "memory/arena", "memory", &live, 1);
    if (profiler_measures(s->profiler))
        count(s, &step, end_ns - begin_ns);
}

void step_profile_start(step_profile *s, profiler *p, net *n)
{
    *s = (step_profile){.profiler = p, .observer = {ran, s}};
    net_observe(n, &s->observer);
}

void step_profile_stop(step_profile *s, net *n)
{
    if (n)
        net_observe(n, NULL);
    free(s->rows);
    *s = (step_profile){.profiler = NULL};
}
