/* program_capture.c - segments gathered into graphs of the device, done again while nothing moves. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program_internal.h"

#include <stdlib.h>
#include <string.h>

/* Libraries prepare themselves in their first runs, which must not be gathered. */
enum { WARM_RUNS = 2 };

static bool is_here(const program *p, const capture *c)
{
    return c->places && c->places[0] == p->arena &&
           (p->nexternal == 0 ||
            memcmp(c->places + 1, p->external, p->nexternal * sizeof *p->external) == 0);
}

static void drop(const program *p, capture *c)
{
    if (c->graph) /* its last run may be under way, and its error is told elsewhere */
        (void)p->device->table->synchronise(p->device->device, NULL, NULL);
    if (c->graph)
        p->device->table->graph_destroy(p->device->device, c->graph);
    free(c->places);
    *c = (capture){.places = NULL};
}

/* That of the places as they are; a new one takes the place of the one used longest ago.  NULL: out
 * of memory. */
static capture *find(program *p, int32_t segment)
{
    capture *oldest = p->captures[segment];
    for (capture *c = oldest; c < p->captures[segment] + CAPTURES_KEPT; c++) {
        if (is_here(p, c))
            return c;
        if (c->used < oldest->used)
            oldest = c;
    }
    drop(p, oldest);
    oldest->places = malloc(((size_t)p->nexternal + 1) * sizeof *oldest->places);
    if (!oldest->places)
        return NULL;
    oldest->places[0] = p->arena;
    memcpy(oldest->places + 1, p->external, p->nexternal * sizeof *p->external);
    return oldest;
}

/* What fails here is run step by step instead, and fails there again if it is to. */
static void gather(const program *p, capture *c, const step *first, const step *end)
{
    const tutti_device *d = p->device;
    if (d->table->capture_begin(d->device, NULL, NULL) == TUTTI_OK) {
        const tutti_status s = program_run_steps(p, first, end, NULL);
        if (d->table->capture_end(d->device, NULL, s ? NULL : &c->graph, NULL))
            c->graph = NULL;
    }
    c->failed = !c->graph;
}

tutti_status program_run_captured(program *p, int32_t segment, const step *first,
                                  const step *end, tutti_error *err)
{
    const tutti_device *d = p->device;
    capture *c = find(p, segment);
    if (!c)
        return program_run_steps(p, first, end, err);
    c->used = ++p->clock;
    if (!c->graph && !c->failed && ++c->runs > WARM_RUNS)
        gather(p, c, first, end);
    return c->graph ? d->table->replay(d->device, NULL, c->graph, &p->now, err)
                    : program_run_steps(p, first, end, err);
}

void program_drop_captures(program *p)
{
    for (int32_t segment = 0; segment < 2; segment++)
        for (int k = 0; k < CAPTURES_KEPT; k++)
            drop(p, &p->captures[segment][k]);
}
