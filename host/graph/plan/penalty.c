/* penalty.c - terms of the loss made of its gradients: a graph of its own, differentiated twice. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/autodiff.h"
#include "graph/plan/plan_internal.h"
#include "tutti/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inputs of the graph: those of the model, its targets, the loss scale, the loss without the term; the
 * sum of both goes back to where the loss lies. */
struct penalty {
    compiled_graph compiled;
    uint32_t ninputs;
    uint32_t ntargets;
};

typedef struct tracing {
    net *n;
    const plan_request *request;
    graph *g;
    tutti_value *weights; /* by position in net.order; 0: not trainable or not used */
    tutti_value *dweights;
    tutti_value inputs[TUTTI_MAX_COLUMNS];
    tutti_value dinputs[TUTTI_MAX_COLUMNS];
    tutti_value scale;
    tutti_value bare; /* the loss without the term */
    tutti_value term;
    tutti_value sum;
} tracing;

/* Inputs and targets -> the mean loss. */
static tutti_value trace_loss(tracing *t)
{
    net *n = t->n;
    tutti_graph *b = graph_builder(t->g);
    const tutti_model_v1 *model = n->model.table;
    tutti_value outputs[NET_MAX_OUTPUTS] = {0}, targets[TUTTI_MAX_COLUMNS];
    for (uint32_t k = 0; k < t->request->ninputs; k++)
        t->inputs[k] = graph_input(t->g, &t->request->inputs[k]);
    for (uint32_t k = 0; k < t->request->ntargets; k++)
        targets[k] = graph_input(t->g, &t->request->targets[k]);
    if (net_trace_model(n, b, t->inputs, t->request->ninputs, outputs, model->noutputs))
        return 0;
    return loss_trace(n, t->g, PLAN_TRAIN, outputs, targets, t->request->ntargets);
}

static void find_weights(tracing *t)
{
    for (tutti_value v = 1; v < graph_nvalues(t->g); v++) {
        const graph_value *value = graph_value_at(t->g, v);
        for (uint32_t k = 0; k < t->n->tree.norder && value->kind == VALUE_WEIGHT; k++)
            if (t->n->tree.order[k]->offset >= 0 && t->n->tree.order[k]->id == value->index)
                t->weights[k] = v;
    }
}

/* The loss's gradients by inputs and weights, as values that can be differentiated again. */
static void trace_gradients(tracing *t, tutti_value loss)
{
    tutti_graph *b = graph_builder(t->g);
    const uint32_t nin = t->request->ninputs, nall = nin + t->n->tree.norder;
    tutti_value *wrt = calloc((size_t)nall + 1, sizeof *wrt);
    tutti_value *d = calloc((size_t)nall + 1, sizeof *d);
    const float unit = 1.0f;
    if (!wrt || !d) {
        (void)b->fail(b, TUTTI_E_NOMEM, "no memory for a penalty");
        goto done;
    }
    for (uint32_t k = 0; k < nin; k++)
        wrt[k] = graph_is_floating(t->request->inputs[k].dtype) ? t->inputs[k] : 0;
    memcpy(wrt + nin, t->weights, sizeof *wrt * t->n->tree.norder);
    const tutti_tensor one = {(void *)(uintptr_t)&unit, *b->desc(b, loss), TUTTI_DEVICE_CPU, 0};
    const tutti_value seed = b->constant(b, &one);
    if (graph_gradient(t->g, &loss, &seed, 1, wrt, nall, d) == TUTTI_OK)
        for (uint32_t k = 0; k < nall; k++)
            *(k < nin ? &t->dinputs[k] : &t->dweights[k - nin]) = wrt[k] ? d[k] : 0;
done:
    free(wrt);
    free(d);
}

/* The sum of all terms. */
static void trace_terms(tracing *t, tutti_value loss)
{
    tutti_graph *b = graph_builder(t->g);
    char text[160], got[96];
    const tutti_penalty_input in = {sizeof in, t->request->ninputs, t->n->tree.norder,
                                    loss,      t->dinputs,          t->dweights};
    (void)graph_set_scope(t->g, "penalty");
    for (uint32_t k = 0; k < t->n->compiled.plans->losses.npenalties && !b->status(b); k++) {
        instance_call c =
            instance_enter_whole(t->n->compiled.plans->losses.penalties[k].owner, "term");
        const tutti_value v = t->n->compiled.plans->losses.penalties[k].table->term(
            t->n->compiled.plans->losses.penalties[k].self, b, &in);
        instance_leave(&c);
        const tutti_desc *d = b->desc(b, v);
        if (!b->status(b) && (!v || d->dtype != TUTTI_F32 || tutti_numel(d) != 1)) {
            (void)snprintf(text, sizeof text, "the term is %s, want one F32",
                           tutti_desc_text(d, got, sizeof got));
            (void)b->fail(b, TUTTI_E_SHAPE, text);
        } else if (!b->status(b)) {
            t->term = t->term ? tutti_add(b, t->term, v) : v;
        }
    }
}

static tutti_status trace_penalty(tracing *t, tutti_error *err)
{
    tutti_graph *b = graph_builder(t->g);
    graph_set_expand(t->g, true);
    const tutti_value loss = trace_loss(t);
    if (!b->status(b) && tutti_numel(b->desc(b, loss)) != 1)
        (void)b->fail(b, TUTTI_E_SHAPE, "a penalty needs a loss that is one number");
    if (b->status(b))
        return graph_error(t->g, err);
    const tutti_desc number = *b->desc(b, loss); /* emitting moves what desc lends */
    t->scale = graph_input(t->g, &number);
    t->bare = graph_input(t->g, &number);
    find_weights(t);
    trace_gradients(t, loss);
    if (!b->status(b))
        trace_terms(t, loss);
    if (!b->status(b)) {
        const tutti_value term = tutti_reshape(b, t->term, number.dim, (uint32_t)number.rank);
        t->sum = tutti_add(b, t->bare, term);
    }
    graph_set_segment(t->g, 1);
    if (!b->status(b)) {
        const tutti_desc d = *b->desc(b, t->term);
        const tutti_value seed = tutti_reshape(b, t->scale, d.dim, (uint32_t)d.rank);
        memset(t->dweights, 0, sizeof *t->dweights * t->n->tree.norder);
        const tutti_status s = graph_gradient(t->g, &t->term, &seed, 1, t->weights,
                                              t->n->tree.norder, t->dweights);
        if (s)
            return graph_error(t->g, err);
    }
    return graph_error(t->g, err);
}

static tutti_status compile(const tracing *t, penalty *p, tutti_error *err)
{
    const net *n = t->n;
    program_store *stores = calloc((size_t)n->tree.norder + 1, sizeof *stores);
    uint32_t count = 0;
    const uint32_t place = p->ninputs + p->ntargets + 2;
    if (!stores)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a penalty");
    stores[count++] = (program_store){
        .value = t->sum, .kind = STORE_EXTERNAL, .index = place, .bytes = sizeof(float)};
    for (uint32_t k = 0; k < n->tree.norder; k++)
        if (t->weights[k] && t->dweights[k])
            stores[count++] = (program_store){.value = t->dweights[k],
                                              .kind = STORE_MEMORY,
                                              .segment = 1,
                                              .add = true,
                                              .memory = n->tree.order[k]->grad,
                                              .bytes = tutti_nbytes(&n->tree.order[k]->desc)};
    program_spec spec = {.stores = stores, .nstores = count, .nexternal = place + 1};
    const tutti_status s = compiled_graph_compile(n, &p->compiled, &spec, err);
    free(stores);
    return s;
}

tutti_status penalty_create(net *n, const plan_request *request, penalty **ret_penalty,
                            tutti_error *err)
{
    tracing t = {.n = n, .request = request};
    penalty *p = calloc(1, sizeof *p);
    t.weights = calloc((size_t)n->tree.norder + 1, sizeof *t.weights);
    t.dweights = calloc((size_t)n->tree.norder + 1, sizeof *t.dweights);
    tutti_status s = TUTTI_OK;
    if (!p || !t.weights || !t.dweights)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for a penalty");
    if (!s)
        s = compiled_graph_begin(n, TUTTI_MODE_TRAIN, "a penalty", &p->compiled, err);
    if (!s) {
        t.g = p->compiled.g;
        p->ninputs = request->ninputs;
        p->ntargets = request->ntargets;
        s = trace_penalty(&t, err);
    }
    if (!s)
        s = compile(&t, p, err);
    if (!s)
        s = compiled_graph_take_arena(&p->compiled, "a penalty", err);
    free(t.weights);
    free(t.dweights);
    if (s)
        penalty_destroy(p);
    else
        *ret_penalty = p;
    return s;
}

void penalty_destroy(penalty *p)
{
    if (!p)
        return;
    compiled_graph_fini(&p->compiled);
    free(p);
}

uint64_t penalty_bytes(const penalty *p)
{
    return program_bytes(p->compiled.program);
}

tutti_status penalty_run(const net *n, penalty *p, const void *const *places, int32_t segment,
                         const tutti_step *step, tutti_error *err)
{
    compiled_graph_bind(&p->compiled, places, p->ninputs + p->ntargets + 3);
    return compiled_graph_run(n, &p->compiled, segment, step, err);
}
