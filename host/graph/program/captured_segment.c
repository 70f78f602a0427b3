/* captured_segment.c - a segment on a device: one graph of it, or one of each part that ends with a mark of who watches. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/program_internal.h"

#include <stdlib.h>
#include <string.h>

/* A segment that is to be gathered. */
typedef struct segment_work {
    const program *program;
    const step *first;
    const step *end;
} segment_work;

static tutti_status run_segment(void *ctx, tutti_error *err)
{
    const segment_work *w = ctx;
    return program_run_steps(w->program, w->first, w->end, err);
}

static tutti_status run_range(program *p, graph_captures *captures, const step *first,
                              const step *end, tutti_error *err)
{
    segment_work work = {p, first, end};
    return capture_is_supported(p->device) && first < end
               ? capture_run(captures, p->device, (const void *const *)p->external,
                             p->nexternal + 1, &p->now, run_segment, &work, err)
               : program_run_steps(p, first, end, err);
}

/* ---- in parts ---- */

void program_drop_marks(program *p)
{
    program_marks *m = &p->captures.marks;
    for (uint32_t k = 0; m->captures && k <= m->count; k++)
        captures_drop(&m->captures[k], p->device);
    free(m->captures);
    free(m->steps);
    *m = (program_marks){.captures = NULL};
}

/* Graphs of parts that end elsewhere are of no use. */
static tutti_status fit(program *p, tutti_error *err)
{
    const program_watcher *w = &p->watcher;
    program_marks *m = &p->captures.marks;
    const size_t bytes = w->nmarks * sizeof *w->marks;
    if (m->captures && m->count == w->nmarks && memcmp(m->steps, w->marks, bytes) == 0)
        return TUTTI_OK;
    program_drop_marks(p);
    m->captures = calloc(w->nmarks + 1, sizeof *m->captures);
    m->steps = malloc(bytes);
    if (!m->captures || !m->steps) {
        program_drop_marks(p);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %u parts of a backward pass",
                          w->nmarks + 1);
    }
    memcpy(m->steps, w->marks, bytes);
    m->count = w->nmarks;
    for (uint32_t k = 0; k <= m->count; k++)
        m->captures[k].log = p->captures.segments[1].log;
    return TUTTI_OK;
}

static tutti_status run_marked(program *p, const step *first, const step *end, tutti_error *err)
{
    const program_watcher *w = &p->watcher;
    tutti_status s = fit(p, err);
    const step *at = first;
    for (uint32_t k = 0; k < w->nmarks && !s; k++) {
        const step *next = first + w->marks[k];
        if (!(s = run_range(p, &p->captures.marks.captures[k], at, next, err)))
            w->passed(w->ctx, w->marks[k]);
        at = next;
    }
    return s ? s : run_range(p, &p->captures.marks.captures[w->nmarks], at, end, err);
}

tutti_status program_run_on_device(program *p, int32_t segment, const step *first,
                                   const step *end, tutti_error *err)
{
    const tutti_device *d = p->device;
    const tutti_status s = segment && p->watcher.passed && p->watcher.nmarks
                               ? run_marked(p, first, end, err)
                               : run_range(p, &p->captures.segments[segment], first, end, err);
    /* Who may read the results by their pointers expects them to be there. */
    return !s && tutti_device_is_host(d) && device_is_async(d)
               ? d->table->synchronise(d->device, NULL, err)
               : s;
}
