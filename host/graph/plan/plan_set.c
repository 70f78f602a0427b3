/* plan_set.c - the plans of a net: their beginning, their arena, their end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/plan_internal.h"
#include "graph/plan/plan_workspace.h"
#include "graph/runtime/host_memory.h"

#include <stdlib.h>

static void plan_set_destroy(net *n)
{
    plan_set_drop(n);
    device_free(n->options.device, n->compiled.plans->arena);
    free(n->compiled.plans);
    n->compiled = (net_compiled){NULL, NULL, NULL};
}

plan_set *plan_set_get(net *n)
{
    if (!n->compiled.plans)
        n->compiled = (net_compiled){calloc(1, sizeof *n->compiled.plans), plan_set_drop,
                                     plan_set_destroy};
    return n->compiled.plans;
}

void plan_set_drop_plans(plan_set *set, const model_graph *b)
{
    for (uint32_t k = 0; k < PLAN_LISTS; k++) {
        for (plan **at = &set->plans[k]; *at;) {
            plan *p = *at;
            if (b && p->model_graph != b) {
                at = &p->next;
                continue;
            }
            *at = p->next;
            loss_graph_fini(&p->loss_graph);
            free(p);
            set->counts.plans--;
        }
    }
}

void plan_set_drop(net *n)
{
    plan_set *set = n->compiled.plans;
    plan_set_drop_plans(set, NULL);
    while (set->model_graphs) {
        model_graph *next = set->model_graphs->next;
        model_graph_destroy(set->model_graphs);
        set->model_graphs = next;
    }
    sequence_rows_drop(n);
}

tutti_status plan_set_fit_arena(net *n, uint64_t bytes, tutti_error *err)
{
    plan_set *set = n->compiled.plans;
    if (set->arena && bytes <= set->arena_bytes)
        return TUTTI_OK;
    tutti_error why = TUTTI_ERROR_INIT;
    device_free(n->options.device, set->arena);
    set->arena_bytes = 0;
    set->arena = device_try_alloc(n->options.device, bytes, &why);
    if (!set->arena)
        return tutti_fail(err, why.status, "no memory for an arena of %llu bytes%s%s",
                          (unsigned long long)bytes, *why.text ? ": " : "", why.text);
    if (!n->options.device && !net_is_blank(n))
        host_memory_prefault(set->arena, bytes, n->options.threads);
    set->arena_bytes = bytes;
    return TUTTI_OK;
}

tutti_status net_set_across_slots(net *n, tutti_error *err)
{
    plan_set *set = plan_set_get(n);
    if (!set)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
    set->across_slots = true;
    return TUTTI_OK;
}

void net_set_memory_limit(net *n, uint64_t bytes)
{
    n->limits.memory = bytes;
}

void net_set_plan_limit(net *n, uint64_t bytes)
{
    n->limits.plans = bytes;
}
