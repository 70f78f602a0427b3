/* plan_workspace.c - slots of a batch side by side: memory for one slot each, and passes in parts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/plan_workspace.h"
#include "graph/plan/plan_internal.h"
#include "graph/runtime/host_memory.h"

static program *program_of(const plan *p)
{
    return p->model_graph->compiled.program;
}

uint32_t plan_sums(const plan *p, int64_t *ret_counts, uint32_t most)
{
    uint32_t n = 0;
    for (int32_t segment = 0; segment < 2; segment++)
        n += program_sums(program_of(p), segment, ret_counts ? ret_counts + n : NULL,
                          n < most ? most - n : 0);
    return n;
}

void plan_watch_sums(plan *p, program_sum_fn sum, void *ctx)
{
    program_sum(program_of(p), sum, ctx);
}

bool plan_watches_sums(const plan *p)
{
    return program_is_summed(program_of(p));
}

tutti_status plan_workspace_fit(plan_workspace *w, net *n, tutti_error *err)
{
    float *weights, *gradients;
    int64_t count;
    net_arena(n, &weights, &gradients, &count);
    if (w->gradients && w->version == net_version(n))
        return TUTTI_OK;
    plan_workspace_fini(w); /* the next gradients are zeros between weights */
    w->device = n->options.device;
    w->gradients = device_alloc(w->device, (uint64_t)count * sizeof(float) + MEMORY_ALIGN);
    w->version = net_version(n);
    return w->gradients
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM, "no memory for %lld gradients of a microbatch",
                            (long long)count);
}

void plan_workspace_fini(plan_workspace *w)
{
    device_free(w->device, w->arena);
    device_free(w->device, w->gradients);
    *w = (plan_workspace){.arena = NULL};
}

/* The workspace's arena is the plans', and the other way round. */
static void exchange(plan_workspace *w, plan_set *set)
{
    const plan_workspace mine = *w;
    w->arena = set->arena;
    w->arena_bytes = set->arena_bytes;
    set->arena = mine.arena;
    set->arena_bytes = mine.arena_bytes;
}

void plan_workspace_enter(plan_workspace *w, plan *p)
{
    float *weights, *gradients;
    int64_t count;
    net_arena(p->n, &weights, &gradients, &count);
    exchange(w, p->n->compiled.plans);
    program_move(program_of(p), gradients, (uint64_t)count * sizeof *gradients, w->gradients);
}

void plan_workspace_leave(plan_workspace *w, plan *p)
{
    exchange(w, p->n->compiled.plans);
    program_move(program_of(p), NULL, 0, NULL);
}
