/* module_trace.c - graphs that trace a tree: what they ask of its weights and modules. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/net_internal.h"
#include "graph/net/sequence.h"
#include "tutti/isa.h"

#include <stdio.h>

#define MAX_DEPTH 64 /* of calls within calls */

static tutti_status fail_in(graph *g, const tutti_error *why)
{
    tutti_graph *b = graph_builder(g);
    return b->fail(b, why->status, why->text);
}

static tutti_status hook_weight(void *ctx, graph *g, tutti_module m, const char *name,
                                uint32_t *ret_id, tutti_desc *ret_desc, bool *ret_trainable)
{
    const net *n = ctx;
    const module *it = net_module(n, m);
    const weight_slot *slot = it ? module_tree_slot(it, name) : NULL;
    tutti_error why = TUTTI_ERROR_INIT;
    if (!it)
        tutti_fail(&why, TUTTI_E_ARG, "there is no module %u", m);
    else if (!slot)
        (void)module_tree_no_weight(it, "", name, &why);
    else if (!slot->weight->listed)
        tutti_fail(&why, TUTTI_E_STATE, "weight \"%s\" of %s is not in the tree", name,
                   it->kind);
    else if (n->tracing.in_loss && slot->weight->flags & TUTTI_WEIGHT_TRAINABLE)
        tutti_fail(&why, TUTTI_E_UNSUPPORTED,
                   "the loss reads trainable weight %s: make it an output of trace",
                   slot->weight->path);
    if (why.status)
        return fail_in(g, &why);
    *ret_id = slot->weight->id;
    *ret_desc = slot->weight->desc;
    *ret_trainable = slot->weight->flags & TUTTI_WEIGHT_TRAINABLE;
    return TUTTI_OK;
}

static tutti_status hook_call(void *ctx, graph *g, tutti_module m, const tutti_value *in,
                              uint32_t nin, tutti_value *out, uint32_t nout)
{
    net *n = ctx;
    tutti_graph *b = graph_builder(g);
    const module *it = net_module(n, m);
    if (!it || !it->impl.table)
        return b->fail(b, TUTTI_E_ARG, "call: there is no such module, or it is the root");
    if (n->tracing.depth >= MAX_DEPTH)
        return b->fail(b, TUTTI_E_STATE, "call: modules call each other without end");
    const char *before = graph_set_scope(g, module_tree_path(n, m));
    if (it->lacks_path)
        return b->fail(b, TUTTI_E_NOMEM, "no memory for the path of a module");
    n->tracing.depth++;
    instance_call c = instance_enter_whole(it->impl.instance, "trace");
    const tutti_status s = it->impl.table->trace(it->impl.self, b, m, in, nin, out, nout);
    instance_leave(&c);
    n->tracing.depth--;
    if (s)
        (void)b->fail(b, s, "trace failed without a reason");
    for (uint32_t k = 0; k < nout && !b->status(b); k++)
        if (!out[k])
            (void)b->fail(b, TUTTI_E_FAIL, "trace left a result empty");
    (void)graph_set_scope(g, before);
    if (n->tracing.calls && !b->status(b))
        module_calls_add(n->tracing.calls, m, in, nin, out, nout);
    return b->status(b);
}

/* What is read where weight `id` is `v`: what its parametrizations make of it. */
static tutti_value hook_read(void *ctx, graph *g, uint32_t id, tutti_value v)
{
    net *n = ctx;
    tutti_graph *b = graph_builder(g);
    const weight *w = n->tree.weights[id];
    module_calls *calls = n->tracing.calls;
    n->tracing.calls = NULL; /* what is made of a weight is no activation */
    for (uint32_t k = 0; k < w->nvia && v; k++) {
        const tutti_desc want = *b->desc(b, v);
        tutti_value y = 0;
        if (hook_call(n, g, w->via[k], &v, 1, &y, 1)) {
            v = 0;
            break;
        }
        const tutti_desc *got = b->desc(b, y);
        char text[320], a[96], c[96];
        (void)snprintf(text, sizeof text, "%s makes %s of a weight %s: its shape must stay",
                       net_module(n, w->via[k])->kind, tutti_desc_text(got, a, sizeof a),
                       tutti_desc_text(&want, c, sizeof c));
        if (!tutti_same_shape(got, &want))
            (void)b->fail(b, TUTTI_E_SHAPE, text);
        v = b->status(b) ? 0 : y;
    }
    n->tracing.calls = calls;
    return v;
}

static const tutti_op *hook_op(void *ctx, const char *name, tutti_error *err)
{
    return op_source_find(ctx, name, err);
}

tutti_status net_trace_model(net *n, tutti_graph *b, const tutti_value *in, uint32_t nin,
                             tutti_value *out, uint32_t nout)
{
    n->tracing.depth = 0;
    instance_call c = instance_enter_whole(n->model.instance, "trace");
    const tutti_status s = n->model.table->trace(n->model.self, b, 1, in, nin, out, nout);
    instance_leave(&c);
    return s ? b->fail(b, s, "trace failed without a reason") : b->status(b);
}

tutti_status sequence_trace_model(net *n, sequence_trace *q, graph *g, tutti_value position,
                                  const tutti_value *in, uint32_t nin, tutti_value *out,
                                  uint32_t nout)
{
    tutti_graph *t = graph_builder(g);
    char text[256];
    q->position = position;
    n->tracing.sequence = q;
    const tutti_status s = net_trace_model(n, t, in, nin, out, nout);
    n->tracing.sequence = NULL;
    (void)snprintf(text, sizeof text, "%s cannot go on from where it was: %s", n->model.kind,
                   q->asked ? "none of its layers keeps what it has seen"
                            : "it does not ask for positions");
    return s || (q->asked && q->nuses) ? s : t->fail(t, TUTTI_E_UNSUPPORTED, text);
}

tutti_value net_trace_loss(net *n, tutti_graph *b, const tutti_value *outputs,
                           uint32_t noutputs, const tutti_value *targets, uint32_t ntargets,
                           int32_t reduction)
{
    const bool before = n->tracing.in_loss; /* of an algorithm around this one */
    n->tracing.depth = 0;
    n->tracing.in_loss = true;
    instance_call c = instance_enter_whole(n->model.instance, "loss");
    const tutti_value loss =
        n->model.table->loss(n->model.self, b, outputs, noutputs, targets, ntargets, reduction);
    instance_leave(&c);
    n->tracing.in_loss = before;
    return loss;
}

/* Whether the CPU multiplies factors in f16; elsewhere nodes, and with them choices that are kept, are as they always were. */
static bool multiplies_f16(void)
{
#if defined(__x86_64__)
    return tutti_isa() >= TUTTI_ISA_amx_fp16;
#else
    return false;
#endif
}

/* What nodes' attribute `fast` says (graph_set_fast). */
static int32_t fast_of(int32_t precision)
{
    if (precision == NET_AMP_FP16)
        return multiplies_f16() ? 3 : 0;
    return precision == NET_FP32_FAST ? 1 : precision == NET_AMP_BF16 ? 2 : 0;
}

graph *net_graph(net *n, int32_t mode)
{
    const graph_hooks hooks = {.ctx = n,
                               .weight = hook_weight,
                               .call = hook_call,
                               .read = hook_read,
                               .op = hook_op,
                               .position = sequence_position,
                               .cache = sequence_cache};
    graph *g = graph_create(n->options.ops, mode, &hooks);
    if (g)
        graph_set_passes(g, GRAPH_FOLD);
    if (g)
        graph_set_fast(g, fast_of(n->options.precision));
    return g;
}
