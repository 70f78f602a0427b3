/* loss.c - the loss of a plan: the model's or one in its place, for training within those of algorithms. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/plan_internal.h"

/* The loss that `below` of the k-th object gives is that of level k; level 0 is the model's. */
typedef struct loss_level {
    net *n;
    graph *g;
    uint32_t level;
    uint32_t reserved;
} loss_level;

static tutti_value trace_level(const loss_level *l, const tutti_value *outputs,
                               uint32_t noutputs, const tutti_value *targets, uint32_t ntargets,
                               int32_t reduction);

/* What an object gives the loss below may be as wrong as anything that a plugin says. */
static tutti_value trace_below(void *ctx, tutti_graph *b, const tutti_value *outputs,
                               uint32_t noutputs, const tutti_value *targets, uint32_t ntargets,
                               int32_t reduction)
{
    const loss_level *above = ctx;
    const loss_level l = {above->n, above->g, above->level - 1, 0};
    if (reduction != TUTTI_REDUCTION_NONE && reduction != TUTTI_REDUCTION_MEAN)
        (void)b->fail(b, TUTTI_E_ARG, "asks the loss below for a reduction that there is not");
    if (noutputs != l.n->model.table->noutputs)
        (void)b->fail(b, TUTTI_E_ARG, "gives the loss below another number of outputs");
    return b->status(b) ? 0 : trace_level(&l, outputs, noutputs, targets, ntargets, reduction);
}

static tutti_value trace_level(const loss_level *l, const tutti_value *outputs,
                               uint32_t noutputs, const tutti_value *targets, uint32_t ntargets,
                               int32_t reduction)
{
    const net *n = l->n;
    tutti_graph *b = graph_builder(l->g);
    tutti_value loss;
    if (l->level == 0) {
        const char *before = graph_set_scope(l->g, "loss");
        loss = net_trace_loss(l->n, b, outputs, noutputs, targets, ntargets, reduction);
        (void)graph_set_scope(l->g, before);
        return loss;
    }
    const loss_around *around = &n->compiled.plans->losses.around[l->level - 1];
    const tutti_loss_input in = {.struct_size = sizeof in,
                                 .reduction = reduction,
                                 .outputs = outputs,
                                 .targets = targets,
                                 .noutputs = noutputs,
                                 .ntargets = ntargets,
                                 .ctx = (void *)(uintptr_t)l,
                                 .below = trace_below};
    const char *before = graph_set_scope(l->g, around->who);
    instance_call c = instance_enter_whole(around->owner, "loss");
    loss = around->table->loss(around->self, b, &in);
    instance_leave(&c);
    if (!loss && !b->status(b))
        (void)b->fail(b, TUTTI_E_FAIL, "gives no loss, want an F32");
    (void)graph_set_scope(l->g, before);
    return loss;
}

tutti_value loss_trace(net *n, graph *g, int kind, const tutti_value *outputs,
                       const tutti_value *targets, uint32_t ntargets)
{
    const net_losses *all = &n->compiled.plans->losses;
    const loss_level l = {n, g, kind == PLAN_EVAL ? all->nown : all->naround, 0};
    (void)graph_set_scope(g, l.level ? all->around[l.level - 1].who : "loss");
    n->tracing.in_loss = true;
    n->tracing.depth = 0;
    const tutti_value loss =
        trace_level(&l, outputs, n->model.table->noutputs, targets, ntargets,
                    kind == PLAN_LOSSES ? TUTTI_REDUCTION_NONE : TUTTI_REDUCTION_MEAN);
    n->tracing.in_loss = false;
    return loss;
}
