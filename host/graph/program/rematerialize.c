/* rematerialize.c - rematerialization: which results of the forward pass the backward pass computes again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/schedule.h"
#include "graph/runtime/host_memory.h"

#include <stdlib.h>
#include <string.h>

/* A step is taken to move its operands, written ones twice as writing reads them first, and to multiply
 * at a speed that stands in this proportion to that. */
#define FLOPS_A_BYTE 6.0
#define FLOPS_A_BYTE_ON_DEVICE 40.0
#define CHEAP_WORK 0.005 /* of a run's, by this estimate */
#define LEAST_GAIN 0.005 /* of the sum that schedule.h tells of */
#define WORTH 0.99       /* of the arena: it must become smaller than that */

/* Steps that run together or not at all. */
typedef struct group {
    uint32_t first; /* in rematerialization.steps */
    uint32_t count;
    double work; /* bytes */
    double gain; /* by work */
    bool runs;
} group;

struct rematerialization {
    schedule *s;
    step *steps; /* that do not run, or copies of such that do */
    group *groups;
    uint32_t nsteps, ngroups;
};

static double bytes_moved(const tutti_op_call *c)
{
    double sum = 0.0;
    for (uint32_t k = 0; k < c->nin; k++)
        sum += (double)tutti_nbytes(&c->in[k]);
    for (uint32_t k = 0; k < c->nout; k++)
        sum += 2.0 * (double)tutti_nbytes(&c->out[k]);
    return sum;
}

/* ---- with and without a group ---- */

/* The group's results have memory of their own, or that of what they repeat. */
static void set_own(const rematerialization *a, const group *g, bool own)
{
    program *p = a->s->p;
    for (uint32_t k = g->first; k < g->first + g->count; k++) {
        const graph_node *n = a->steps[k].node;
        p->alias_set_of[n->out] = own ? n->out : program_alias_set(p, n->recomputes);
        a->s->alias_set_of[n->out] = p->alias_set_of[n->out];
    }
}

/* Before the first step that reads one of its results. */
static void insert(const rematerialization *a, const group *g)
{
    program *p = a->s->p;
    uint32_t at = p->cut;
    bool reads = false;
    set_own(a, g, true);
    schedule_find_keys(a->s);
    for (; at < p->nsteps && !reads; at++)
        for (uint32_t k = g->first; k < g->first + g->count && !reads; k++)
            reads = schedule_reads(a->s, &p->steps[at], &a->steps[k]);
    at -= reads;
    memmove(&p->steps[at + g->count], &p->steps[at], sizeof *p->steps * (p->nsteps - at));
    memcpy(&p->steps[at], &a->steps[g->first], sizeof *p->steps * g->count);
    p->nsteps += g->count;
}

static void accept_steps(const rematerialization *a)
{
    memcpy(a->s->steps, a->s->p->steps, sizeof *a->s->steps * a->s->p->nsteps);
}

/* Back to the steps accepted. */
static void take_back(const rematerialization *a, const group *g)
{
    program *p = a->s->p;
    p->nsteps -= g->count;
    memcpy(p->steps, a->s->steps, sizeof *p->steps * p->nsteps);
    set_own(a, g, false);
}

/* ---- choosing ---- */

static int by_gain(const void *x, const void *y)
{
    const group *a = x, *b = y;
    if (a->gain != b->gain)
        return a->gain < b->gain ? 1 : -1;
    return (a->first > b->first) - (a->first < b->first);
}

static double work_of_all(const rematerialization *a)
{
    const program *p = a->s->p;
    double sum =
        graph_flops(p->g) /
        (device_is_host(a->s->b->spec->device) ? FLOPS_A_BYTE : FLOPS_A_BYTE_ON_DEVICE);
    for (uint32_t k = 0; k < p->nsteps; k++)
        sum += bytes_moved(p->steps[k].call);
    return sum;
}

static void find_gains(rematerialization *a, double sum)
{
    for (uint32_t k = 0; k < a->ngroups; k++) {
        group *g = &a->groups[k];
        insert(a, g);
        g->gain = (sum - schedule_measure(a->s).sum) / g->work;
        take_back(a, g);
    }
    qsort(a->groups, a->ngroups, sizeof *a->groups, by_gain);
}

/* Everything as it was before. */
static void drop_all(rematerialization *a, const step *steps, uint32_t nsteps)
{
    program *p = a->s->p;
    for (uint32_t k = 0; k < a->ngroups; k++) {
        a->groups[k].runs = false;
        set_own(a, &a->groups[k], false);
    }
    memcpy(p->steps, steps, sizeof *p->steps * nsteps);
    p->nsteps = nsteps;
    p->rematerialization = (program_rematerialization){0, a->ngroups, 0, 0.0};
}

void rematerialize_choose(rematerialization *a)
{
    if (!a || a->s->b->spec->rematerialize == REMATERIALIZE_OFF)
        return;
    program *p = a->s->p;
    const uint32_t nsteps = p->nsteps;
    step *steps = malloc(sizeof *steps * (nsteps + 1));
    if (!steps) /* it works without */
        return;
    memcpy(steps, p->steps, sizeof *steps * nsteps);
    accept_steps(a);
    peak best = schedule_measure(a->s);
    const uint64_t before = best.bytes;
    const double all = work_of_all(a);
    const double most =
        a->s->b->spec->rematerialize == REMATERIALIZE_FULL ? all : CHEAP_WORK * all;
    double work = 0.0;
    find_gains(a, best.sum);
    for (uint32_t k = 0; k < a->ngroups; k++) {
        group *g = &a->groups[k];
        if (work + g->work > most)
            continue;
        insert(a, g);
        const peak h = schedule_measure(a->s);
        if (h.sum > best.sum * (1.0 - LEAST_GAIN)) {
            take_back(a, g);
            continue;
        }
        accept_steps(a);
        best = h;
        g->runs = true;
        work += g->work;
        p->rematerialization.results++;
    }
    schedule_find_keys(a->s);
    if (p->rematerialization.results)
        schedule_search(a->s);
    const uint64_t after = schedule_measure(a->s).bytes;
    p->rematerialization.saved = before - after;
    p->rematerialization.work = work / all;
    if ((double)after > WORTH * (double)before)
        drop_all(a, steps, nsteps);
    (void)schedule_measure(a->s); /* leaves the steps' times */
    free(steps);
}

/* ---- beginning and end ---- */

static bool is_rematerialized(const step *s)
{
    return s->node && s->node->group;
}

tutti_status rematerialize_begin(schedule *s, rematerialization **ret_rematerialization,
                                 tutti_error *err)
{
    program *p = s->p;
    uint32_t count = 0, kept = 0;
    for (uint32_t k = 0; k < p->nsteps; k++)
        count += is_rematerialized(&p->steps[k]);
    if (!count)
        return TUTTI_OK;
    rematerialization *a = calloc(1, sizeof *a);
    if (a)
        *a = (rematerialization){.s = s,
                                 .steps = calloc(count, sizeof *a->steps),
                                 .groups = calloc(count, sizeof *a->groups)};
    if (!a || !a->steps || !a->groups) {
        rematerialize_end(a);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
    }
    for (uint32_t k = 0; k < p->nsteps; k++) { /* those of a group follow each other */
        const step *it = &p->steps[k];
        if (!is_rematerialized(it)) {
            p->steps[kept++] = *it;
            continue;
        }
        if (!a->nsteps || a->steps[a->nsteps - 1].node->group != it->node->group)
            a->groups[a->ngroups++].first = a->nsteps;
        a->groups[a->ngroups - 1].count++;
        a->groups[a->ngroups - 1].work += bytes_moved(it->call);
        a->steps[a->nsteps++] = *it;
    }
    p->nsteps = kept;
    p->rematerialization.offered = a->ngroups;
    for (uint32_t k = 0; k < a->ngroups; k++)
        set_own(a, &a->groups[k], false);
    *ret_rematerialization = a;
    return TUTTI_OK;
}

void rematerialize_end(rematerialization *a)
{
    if (!a)
        return;
    for (uint32_t k = 0; k < a->ngroups; k++)
        for (uint32_t j = 0; j < a->groups[k].count && !a->groups[k].runs; j++) {
            const step *it = &a->steps[a->groups[k].first + j];
            program_end_step(it);
            if (it->scratch_interval != NEVER)
                a->s->p->intervals[it->scratch_interval] = (arena_interval){0, 0, 0, 0};
        }
    free(a->steps);
    free(a->groups);
    free(a);
}
