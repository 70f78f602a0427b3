/* observe.c - what each step of a program computes and moves, for who measures it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/traits.h"
#include "graph/program/program_internal.h"

#include <time.h>

int64_t program_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

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
    *ret = (program_step){.scope = n ? n->scope : "", .live = live_at(p, s->time)};
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
        ret->bytes += tutti_nbytes(&s->call->in[j]);
    for (uint32_t j = 0; j < s->call->nout; j++)
        ret->bytes += 2 * tutti_nbytes(&s->call->out[j]);
}
