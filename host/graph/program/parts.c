/* parts.c - runs a segment on the host, at once or in parts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/parts.h"
#include "base/monotonic.h"
#include "graph/program/packed_operands.h"

#include <string.h>

tutti_status program_fail_step(const step *s, tutti_status status, tutti_error *err)
{
    const graph_node *n = s->node;
    return tutti_fail(err, status, "%s%s%s: %s (%s)", n ? n->scope : "",
                      n && *n->scope ? ": " : "", n ? n->op->name : "store",
                      status == TUTTI_E_RANGE ? "a class or an index is out of range"
                                              : "the kernel failed",
                      tutti_status_name(status));
}

void program_skip_step(const step *s)
{
    for (uint32_t j = 0; s->zeros >> j; j++)
        if (s->zeros >> j & 1)
            memset(s->out[j], 0, tutti_nbytes(&s->call->out[j]));
}

static bool is_skipped(const step *s)
{
    return s->guard && **s->guard == 0.0f;
}

static tutti_status run_step(const program *p, int32_t segment, const step *s, tutti_error *err)
{
    const program_watcher *w = &p->watcher;
    const int64_t begin_ns = w->observer ? monotonic_ns() : 0;
    const bool skipped = is_skipped(s);
    if (skipped)
        program_skip_step(s);
    else if (s->packed)
        packed_operands_refresh(p, s);
    const tutti_status status =
        skipped ? TUTTI_OK : s->run(s->state, s->call, s->in, s->out, s->scratch);
    if (status)
        return program_fail_step(s, status, err);
    if (w->observer)
        w->observer->ran(w->observer->ctx, p, (uint32_t)(s - p->steps), begin_ns,
                         monotonic_ns());
    if (segment && w->passed)
        w->passed(w->ctx, (uint32_t)(s - p->steps) - p->cut + 1);
    return TUTTI_OK;
}

tutti_status program_run_part_here(const program *p, int32_t segment, uint32_t *at,
                                   program_pause *ret_pause, tutti_error *err)
{
    const step *const first = p->steps + (segment ? p->cut : 0);
    const step *const end = p->steps + (segment ? p->nsteps : p->cut);
    const program_watcher *w = &p->watcher;
    *ret_pause = (program_pause){NULL, 0};
    for (const step *s = first + *at; s < end; s++) {
        if (w->reached)
            w->reached(w->reached_ctx, segment, *at + 1);
        const tutti_status status = run_step(p, segment, s, err);
        if (status)
            return status;
        ++*at;
        if (!s->sums)
            continue;
        *ret_pause = (program_pause){s->out[0], tutti_numel(&s->call->out[0])};
        return TUTTI_OK;
    }
    if (w->reached)
        w->reached(w->reached_ctx, segment, *at + 1);
    return TUTTI_OK;
}

tutti_status program_run_here(program *p, int32_t segment, tutti_error *err)
{
    program_pause pause = {NULL, 0};
    uint32_t at = 0;
    tutti_status s;
    do {
        s = program_run_part_here(p, segment, &at, &pause, err);
        if (!s && pause.numbers && p->watcher.sum)
            s = p->watcher.sum(p->watcher.sum_ctx, pause.numbers, pause.count, err);
    } while (!s && pause.numbers);
    return s;
}

void program_sum(program *p, program_sum_fn sum, void *ctx)
{
    p->watcher.sum = sum;
    p->watcher.sum_ctx = ctx;
}

bool program_is_summed(const program *p)
{
    return p->watcher.sum != NULL;
}

uint32_t program_sums(const program *p, int32_t segment, int64_t *ret_counts, uint32_t most)
{
    uint32_t n = 0;
    for (uint32_t k = segment ? p->cut : 0; k < (segment ? p->nsteps : p->cut); k++) {
        if (!p->steps[k].sums)
            continue;
        if (n < most)
            ret_counts[n] = tutti_numel(&p->steps[k].call->out[0]);
        n++;
    }
    return n;
}

void program_move(program *p, const void *from, uint64_t bytes, void *to)
{
    program_base base = {
        .arena = p->base.arena, .from = from, .to = to, .bytes = to ? bytes : 0};
    base.dirty = p->base.dirty || base.from != p->base.from || base.to != p->base.to ||
                 base.bytes != p->base.bytes;
    p->base = base;
    p->external[p->nexternal + PLACE_MOVED] = base.to;
}
