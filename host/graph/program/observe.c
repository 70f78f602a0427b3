/* observe.c - what each step of a program computes and moves, for who measures it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/traits.h"
#include "graph/program/program_internal.h"

void program_observe(program *p, const program_observer *o)
{
    p->watcher.observer = o;
}

static void describe_group(const pointwise_kernel *c, program_step *ret)
{
    size_t used = 0;
    for (uint32_t j = 0; j < c->nops && used < sizeof ret->name; j++)
        used += (size_t)snprintf(ret->name + used, sizeof ret->name - used, "%s%s",
                                 j ? "+" : "", c->ops[j].node->op->name);
    if (used >= sizeof ret->name)
        (void)snprintf(ret->name + sizeof ret->name - 4, 4, "...");
}

static uint64_t live_at(const program *p, uint32_t time)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < p->nintervals; k++)
        if (p->intervals[k].first <= time && time <= p->intervals[k].last)
            sum += p->intervals[k].bytes;
    return sum;
}

void program_describe(const program *p, uint32_t k, program_step *ret)
{
    const step *s = &p->steps[k];
    const graph_node *n = s->node;
    *ret = (program_step){
        .scope = n ? n->scope : "", .algorithm = s->algorithm, .live = live_at(p, s->time)};
    if (s->pointwise_kernel)
        describe_group(s->pointwise_kernel, ret);
    else
        (void)snprintf(ret->name, sizeof ret->name, "%s", n ? n->op->name : "store");
    if (n && !s->pointwise_kernel) {
        const tutti_op_traits *t = traits_of(n->op);
        if (t->work == TUTTI_WORK_PRODUCTS && t->flops)
            ret->flops = t->flops(s->call);
    }
    for (uint32_t j = 0; j < s->call->nin; j++)
        ret->read += tutti_nbytes(&s->call->in[j]);
    for (uint32_t j = 0; j < s->call->nout; j++)
        ret->written += tutti_nbytes(&s->call->out[j]);
    ret->bytes = ret->read + 2 * ret->written;
}

const tutti_op_choice *program_choice(const program *p, uint32_t k)
{
    return p->steps[k].choice;
}

const char *program_op(const program *p, uint32_t k)
{
    const graph_node *n = p->steps[k].node;
    return n ? n->op->name : "store";
}

const char *program_scope(const program *p, uint32_t k)
{
    const graph_node *n = p->steps[k].node;
    return n ? n->scope : "";
}

/* The step at `time`; NULL: it is the one between the segments, or none. */
static const step *step_at(const program *p, uint32_t time)
{
    for (uint32_t k = time < p->nsteps ? time + 1 : p->nsteps; k > 0; k--)
        if (p->steps[k - 1].time <= time)
            return p->steps[k - 1].time == time ? &p->steps[k - 1] : NULL;
    return NULL;
}

/* Whether the step writes into interval `k`. */
static bool writes(const program *p, const step *s, uint32_t k)
{
    const uint32_t from = (uint32_t)((void *const *)s->out - p->slots);
    for (uint32_t j = 0; j < s->call->nout; j++) {
        const alias_set *m = &p->alias_sets[p->slot_alias_set[from + j]];
        if (m->location == LOCATION_ARENA && m->interval == k)
            return true;
    }
    return false;
}

uint32_t program_nplaces(const program *p)
{
    return p->nintervals;
}

program_place program_place_at(const program *p, uint32_t k)
{
    const arena_interval *at = &p->intervals[k];
    const step *s = step_at(p, at->first);
    program_place place = {.op = "",
                           .scope = "",
                           .bytes = at->bytes,
                           .offset = at->offset,
                           .first = at->first,
                           .last = at->last < p->nsteps ? at->last : p->nsteps};
    const bool scratch = s && s->scratch_interval == k;
    if (!s || (!scratch && !writes(p, s, k)))
        return place;
    place.op = scratch ? "scratch" : s->node ? s->node->op->name : "store";
    place.scope = s->node ? s->node->scope : "";
    return place;
}

uint64_t program_peak(const program *p)
{
    uint64_t most = 0;
    for (uint32_t time = 0; time <= p->nsteps; time++) {
        const uint64_t live = live_at(p, time);
        most = live > most ? live : most;
    }
    return most;
}
