/* graph_capture.c - graph capture: work is recorded as a graph of the device and launched again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/graph_capture.h"

#include <stdlib.h>
#include <string.h>

enum { WARM_RUNS = 2 };

bool capture_is_supported(const tutti_device *d)
{
    return d && TUTTI_HAS(d->table, tutti_device_v1, graph_destroy) &&
           d->table->capture_begin && d->table->capture_end && d->table->replay &&
           d->table->graph_destroy && TUTTI_HAS(d->table, tutti_device_v1, clear_unless) &&
           d->table->clear_unless;
}

static void drop_graph(captured_graph *r, const tutti_device *d)
{
    if (r->graph) { /* its last run may be under way, and its error is told elsewhere */
        (void)d->table->synchronise(d->device, NULL, NULL);
        d->table->graph_destroy(d->device, r->graph);
    }
    r->graph = NULL;
}

static void drop(captured_graph *r, const tutti_device *d)
{
    drop_graph(r, d);
    free((void *)r->places);
    *r = (captured_graph){.places = NULL};
}

/* That of these places; a new one evicts the least recently used.  NULL: out of memory. */
static captured_graph *find(graph_captures *all, const tutti_device *d,
                            const void *const *places, uint32_t n)
{
    captured_graph *oldest = all->kept;
    for (captured_graph *r = all->kept; r < all->kept + CAPTURES_KEPT; r++) {
        if (r->places && r->nplaces == n && memcmp(r->places, places, n * sizeof *places) == 0)
            return r;
        if (r->used < oldest->used)
            oldest = r;
    }
    drop(oldest, d);
    oldest->places = malloc((n + 1) * sizeof *oldest->places);
    if (!oldest->places)
        return NULL;
    memcpy((void *)oldest->places, places, n * sizeof *places);
    oldest->nplaces = n;
    return oldest;
}

bool capture_has_conditionals(const tutti_device *d)
{
    return TUTTI_HAS(d->table, tutti_device_v1, block) && d->table->block;
}

static void note(capture_log *log, const captured_graph *r, const tutti_device *d,
                 const tutti_error *why, bool begins)
{
    const bool counts =
        TUTTI_HAS(d->table, tutti_device_v1, graph_nodes) && d->table->graph_nodes;
    if (r->graph) {
        log->graphs++;
        log->nodes = counts ? d->table->graph_nodes(d->device, r->graph) : 0;
        return;
    }
    if (!begins && why->status == TUTTI_E_UNSUPPORTED)
        log->unwanted++;
    else
        log->failed++;
    log->why = *why;
}

/* What fails here is called instead, and fails there again if it is to.  A device that tried blocks in vain
 * gets a second chance without them. */
static void gather(captured_graph *r, const tutti_device *d, capture_work work, void *ctx,
                   capture_log *log)
{
    tutti_error why = TUTTI_ERROR_INIT;
    bool begins = true;
    for (int left = capture_has_conditionals(d) ? 2 : 1; left && begins && !r->graph; left--) {
        why = (tutti_error)TUTTI_ERROR_INIT;
        begins = !d->table->capture_begin(d->device, NULL, &why);
        const tutti_status s = begins ? work(ctx, &why) : TUTTI_OK;
        if (begins && d->table->capture_end(d->device, NULL, s ? NULL : &r->graph, &why))
            r->graph = NULL;
    }
    r->failed = !r->graph;
    if (log)
        note(log, r, d, &why, begins);
}

tutti_status capture_run(graph_captures *all, const tutti_device *d, const void *const *places,
                         uint32_t nplaces, const tutti_step *now, capture_work work, void *ctx,
                         tutti_error *err)
{
    captured_graph *r = find(all, d, places, nplaces);
    if (!r)
        return work(ctx, err);
    r->used = ++all->clock;
    if (!r->graph && !r->failed && ++r->runs > WARM_RUNS)
        gather(r, d, work, ctx, all->log);
    if (!r->graph)
        return work(ctx, err);
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status s = d->table->replay(d->device, NULL, r->graph, now, &why);
    if (s != TUTTI_E_UNSUPPORTED)
        return s ? tutti_fail(err, s, "%s", why.text) : TUTTI_OK;
    drop_graph(r, d); /* the next time another */
    return work(ctx, err);
}

void captures_drop(graph_captures *all, const tutti_device *d)
{
    for (captured_graph *r = all->kept; r < all->kept + CAPTURES_KEPT; r++)
        drop(r, d);
}
