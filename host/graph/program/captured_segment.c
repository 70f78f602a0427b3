/* captured_segment.c - a segment on a device: one graph of it, or one of each part that ends with a mark of who watches or with a sum over slots. */
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

static const step *first_of(const program *p, int32_t segment)
{
    return p->steps + (segment ? p->cut : 0);
}

static const step *end_of(const program *p, int32_t segment)
{
    return p->steps + (segment ? p->nsteps : p->cut);
}

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
                             p->nexternal + PLACES_BESIDE, &p->now, run_segment, &work, err)
               : program_run_steps(p, first, end, err);
}

/* Who may read the results by their pointers expects them to be there. */
static tutti_status wait_for_results(const program *p, tutti_error *err)
{
    const tutti_device *d = p->device;
    return tutti_device_is_host(d) && device_is_async(d)
               ? d->table->synchronise(d->device, NULL, err)
               : TUTTI_OK;
}

/* ---- in parts that end with marks ---- */

static void drop_list(const program *p, graph_captures *captures, uint32_t count)
{
    for (uint32_t k = 0; captures && k < count; k++)
        captures_drop(&captures[k], p->device);
    free(captures);
}

static void drop_marks(program *p)
{
    program_marks *m = &p->captures.marks;
    drop_list(p, m->captures, m->count + 1);
    free(m->steps);
    *m = (program_marks){.captures = NULL};
}

static graph_captures *take_list(const program *p, uint32_t count, tutti_error *err)
{
    graph_captures *list = calloc(count, sizeof *list);
    for (uint32_t k = 0; list && k < count; k++)
        list[k].log = p->captures.segments[1].log;
    if (!list)
        (void)tutti_fail(err, TUTTI_E_NOMEM, "no memory for %u parts of a pass", count);
    return list;
}

/* Graphs of parts that end elsewhere are of no use. */
static tutti_status fit_marks(program *p, tutti_error *err)
{
    const program_watcher *w = &p->watcher;
    program_marks *m = &p->captures.marks;
    const size_t bytes = w->nmarks * sizeof *w->marks;
    if (m->captures && m->count == w->nmarks && memcmp(m->steps, w->marks, bytes) == 0)
        return TUTTI_OK;
    drop_marks(p);
    m->steps = malloc(bytes);
    if (!m->steps)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %u parts of a pass",
                          w->nmarks + 1);
    m->captures = take_list(p, w->nmarks + 1, err);
    if (!m->captures) {
        drop_marks(p);
        return TUTTI_E_NOMEM;
    }
    memcpy(m->steps, w->marks, bytes);
    m->count = w->nmarks;
    return TUTTI_OK;
}

static tutti_status run_marked(program *p, tutti_error *err)
{
    const program_watcher *w = &p->watcher;
    const step *const first = first_of(p, 1);
    tutti_status s = fit_marks(p, err);
    const step *at = first;
    for (uint32_t k = 0; k < w->nmarks && !s; k++) {
        const step *next = first + w->marks[k];
        if (!(s = run_range(p, &p->captures.marks.captures[k], at, next, err)))
            w->passed(w->ctx, w->marks[k]);
        at = next;
    }
    return s ? s : run_range(p, &p->captures.marks.captures[w->nmarks], at, end_of(p, 1), err);
}

/* ---- in parts that end with sums over slots ---- */

static tutti_status fit_sums(program *p, int32_t segment, tutti_error *err)
{
    program_sum_parts *parts = &p->captures.sums[segment];
    if (parts->captures)
        return TUTTI_OK;
    const uint32_t count = program_sums(p, segment, NULL, 0) + 1;
    parts->captures = take_list(p, count, err);
    parts->count = parts->captures ? count : 0;
    return parts->captures ? TUTTI_OK : TUTTI_E_NOMEM;
}

tutti_status program_run_part_on_device(program *p, int32_t segment, uint32_t *at,
                                        program_pause *ret_pause, tutti_error *err)
{
    const step *const first = first_of(p, segment), *const end = end_of(p, segment);
    const step *next = first + *at;
    uint32_t part = 0;
    tutti_status s = fit_sums(p, segment, err);
    *ret_pause = (program_pause){NULL, 0};
    if (s)
        return s;
    for (const step *k = first; k < next; k++)
        part += k->sums;
    while (next < end && !next->sums)
        next++;
    const step *const sum = next < end ? next++ : NULL;
    p->captures.ran = p->captures.ran || segment;
    s = run_range(p, &p->captures.sums[segment].captures[part], first + *at, next, err);
    if (!s)
        s = wait_for_results(p, err);
    if (s)
        return s;
    *at = (uint32_t)(next - first);
    if (sum)
        *ret_pause = (program_pause){sum->out[0], tutti_numel(&sum->call->out[0])};
    return TUTTI_OK;
}

/* Room on the host for the numbers of any sum. */
static tutti_status fit_numbers(program *p, tutti_error *err)
{
    int64_t most = 0;
    if (p->captures.numbers)
        return TUTTI_OK;
    for (const step *s = p->steps; s < p->steps + p->nsteps; s++)
        if (s->sums && tutti_numel(&s->call->out[0]) > most)
            most = tutti_numel(&s->call->out[0]);
    p->captures.numbers = malloc((size_t)most * sizeof *p->captures.numbers);
    return p->captures.numbers
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM, "no memory for %lld numbers of a sum",
                            (long long)most);
}

/* Nothing is given to the device before the sum is there: work behind it waits for nobody. */
static tutti_status take_sum(program *p, const program_pause *pause, tutti_error *err)
{
    const uint64_t bytes = (uint64_t)pause->count * sizeof *pause->numbers;
    const program_watcher *w = &p->watcher;
    double *numbers = p->captures.numbers;
    tutti_status s =
        device_copy(p->device, numbers, pause->numbers, bytes, TUTTI_COPY_FROM_DEVICE, err);
    if (!s)
        s = w->sum(w->sum_ctx, numbers, pause->count, err);
    return s ? s
             : device_copy(p->device, pause->numbers, numbers, bytes, TUTTI_COPY_TO_DEVICE,
                           err);
}

static tutti_status run_summed(program *p, int32_t segment, tutti_error *err)
{
    program_pause pause = {NULL, 0};
    uint32_t at = 0;
    tutti_status s = fit_numbers(p, err);
    while (!s) {
        s = program_run_part_on_device(p, segment, &at, &pause, err);
        if (s || !pause.numbers)
            break;
        s = take_sum(p, &pause, err);
    }
    return s;
}

void program_drop_parts(program *p)
{
    drop_marks(p);
    for (int32_t segment = 0; segment < 2; segment++) {
        drop_list(p, p->captures.sums[segment].captures, p->captures.sums[segment].count);
        p->captures.sums[segment] = (program_sum_parts){.captures = NULL};
    }
    free(p->captures.numbers);
    p->captures.numbers = NULL;
}

tutti_status program_run_on_device(program *p, int32_t segment, tutti_error *err)
{
    const program_watcher *w = &p->watcher;
    if (w->sum && program_sums(p, segment, NULL, 0) > 0)
        return run_summed(p, segment, err);
    const tutti_status s = segment && w->passed && w->nmarks
                               ? run_marked(p, err)
                               : run_range(p, &p->captures.segments[segment],
                                           first_of(p, segment), end_of(p, segment), err);
    return s ? s : wait_for_results(p, err);
}
