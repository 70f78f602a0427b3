/* loss_graph.c - tracing a plan: the loss and its gradient for the outputs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/autodiff.h"
#include "graph/passes/fuse.h"
#include "graph/plan/plan_internal.h"

#include <stdio.h>
#include <stdlib.h>

static tutti_status out_of_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
}

static tutti_status check_loss(const model_graph *b, const plan_request *request,
                               tutti_graph *t, tutti_value loss)
{
    char text[160], got[96];
    const tutti_desc *d = t->desc(t, loss);
    const int64_t rows =
        request->ninputs && request->inputs[0].rank ? request->inputs[0].dim[0] : 1;
    const bool sample = b->kind == PLAN_LOSSES;
    if (t->status(t))
        return t->status(t);
    if (loss && d->dtype == TUTTI_F32 &&
        (sample ? d->rank == 1 && d->dim[0] == rows : tutti_numel(d) == 1))
        return TUTTI_OK;
    (void)snprintf(text, sizeof text, "the loss is %s, want %s",
                   tutti_desc_text(d, got, sizeof got),
                   sample ? "F32 with one number a sample" : "one F32");
    return t->fail(t, TUTTI_E_SHAPE, text);
}

/* Whether any output lies otherwise than others see it. */
static bool any_half(const model_graph *b)
{
    for (uint32_t k = 0; k < b->noutputs; k++)
        if (!model_graph_output_is_kept(b, k))
            return true;
    return false;
}

typedef tutti_status loss_pass(const graph *from, const bool *wanted, graph *to,
                               tutti_value *ret_map, tutti_error *err);

/* h->compiled.g becomes `to`, where map[v] is what value v was; map[0] is 0. */
static void adopt(loss_graph *h, graph *to, const tutti_value *map)
{
    for (uint32_t k = 0; k < sizeof h->inputs / sizeof *h->inputs; k++)
        h->inputs[k] = map[h->inputs[k]];
    for (uint32_t k = 0; k < NET_MAX_OUTPUTS; k++)
        h->douts[k] = map[h->douts[k]];
    h->loss_value = map[h->loss_value];
    graph_destroy(h->compiled.g);
    h->compiled.g = to;
}

static tutti_status rewrite_loss(net *n, const model_graph *b, loss_graph *h, loss_pass *pass,
                                 tutti_error *err)
{
    const graph *from = h->compiled.g;
    graph *to = net_graph(n, plan_mode(b->kind));
    bool *wanted = calloc(graph_nvalues(from), sizeof *wanted);
    tutti_value *map = calloc(graph_nvalues(from), sizeof *map);
    tutti_status s = to && wanted && map ? TUTTI_OK : out_of_memory(err);
    if (!s) {
        wanted[h->loss_value] = true;
        for (uint32_t k = 0; k < NET_MAX_OUTPUTS; k++)
            wanted[h->douts[k]] = true;
        s = pass(from, wanted, to, map, err);
    }
    if (s)
        graph_destroy(to);
    else
        adopt(h, to, map);
    free(wanted);
    free(map);
    return s;
}

/* A loss that can reads such outputs as they lie. */
static tutti_status read_as_kept(net *n, const model_graph *b, loss_graph *h, tutti_error *err)
{
    const tutti_status s = rewrite_loss(n, b, h, fuse_columns, err);
    if (!s)
        graph_set_passes(h->compiled.g, GRAPH_FOLD);
    return s;
}

/* Outputs and targets to the loss: external places in this order. */
static tutti_status trace_loss(net *n, const model_graph *b, const plan_request *request,
                               loss_graph *h, tutti_error *err)
{
    tutti_graph *t = graph_builder(h->compiled.g);
    tutti_value seen[NET_MAX_OUTPUTS], *targets = h->inputs + b->noutputs;
    for (uint32_t k = 0; k < b->noutputs; k++) {
        h->inputs[k] = graph_input(h->compiled.g, model_graph_kept_desc(b, k));
        seen[k] = h->inputs[k];
    }
    for (uint32_t k = 0; k < request->ntargets; k++)
        targets[k] = graph_input(h->compiled.g, &request->targets[k]);
    for (uint32_t k = 0; k < b->noutputs; k++)
        if (!model_graph_output_is_kept(b, k))
            seen[k] = output_copy_emit(h->compiled.g, seen[k], model_graph_output_desc(b, k));
    h->loss_value = loss_trace(n, h->compiled.g, b->kind, seen, targets, request->ntargets);
    const tutti_status s = check_loss(b, request, t, h->loss_value);
    return s || !any_half(b) ? s : read_as_kept(n, b, h, err);
}

/* The loss and what it is multiplied by for its gradient are there together: segments run one after the other. */
static tutti_status fuse_gradient(net *n, const model_graph *b, loss_graph *h, tutti_error *err)
{
    return device_can(h->compiled.device, TUTTI_DEVICE_LOSS_GRADS)
               ? rewrite_loss(n, b, h, fuse_loss_grads, err)
               : TUTTI_OK;
}

/* And the scale behind them, for the gradients of the outputs.  External places go on with the loss and these. */
static tutti_status trace_loss_graph(net *n, const model_graph *b, const plan_request *request,
                                     loss_graph *h, tutti_error *err)
{
    tutti_status s = trace_loss(n, b, request, h, err);
    if (s)
        return s;
    tutti_graph *t = graph_builder(h->compiled.g);
    h->loss = *t->desc(t, h->loss_value);
    const tutti_value scale = graph_input(h->compiled.g, &h->loss);
    h->inputs[b->noutputs + request->ntargets] = scale;
    if (!model_graph_trains(b))
        return t->status(t);
    graph_set_segment(h->compiled.g, 1);
    s = graph_gradient(h->compiled.g, &h->loss_value, &scale, 1, h->inputs, b->noutputs,
                       h->douts);
    return s ? s : fuse_gradient(n, b, h, err);
}

bool loss_graph_spends(const loss_graph *h, uint32_t k)
{
    return h->compiled.program && h->douts[k] &&
           program_is_external(h->compiled.program, h->douts[k], k);
}

/* Where the gradient of output k goes: to a place of its own, or onto the output; where the model has its memory already,
 * as that has it. */
static program_store dout_store(const model_graph *b, const loss_graph *h, uint32_t own,
                                uint32_t k)
{
    const bool may = b->spends_outputs && !b->compiled.program;
    return (program_store){.value = h->douts[k],
                           .kind = STORE_EXTERNAL,
                           .segment = 1,
                           .index = b->spent[k] ? k : own + k,
                           .onto = may ? k + 1 : 0,
                           .bytes = tutti_nbytes(model_graph_kept_desc(b, k))};
}

static tutti_status compile_loss(net *n, const model_graph *b, const plan_request *request,
                                 loss_graph *h, tutti_error *err)
{
    program_store stores[NET_MAX_OUTPUTS + 1];
    const uint32_t first = b->noutputs + request->ntargets + 1;
    uint32_t count = 0;
    stores[count++] = (program_store){.value = h->loss_value,
                                      .kind = STORE_EXTERNAL,
                                      .index = first,
                                      .bytes = tutti_nbytes(&h->loss)};
    for (uint32_t k = 0; k < b->noutputs && model_graph_trains(b); k++) {
        const tutti_desc *d = model_graph_kept_desc(b, k);
        if (graph_is_floating(d->dtype))
            stores[count++] = dout_store(b, h, first + 1, k);
    }
    program_spec spec = {
        .stores = stores, .nstores = count, .nexternal = first + 1 + b->noutputs};
    return compiled_graph_compile(n, &h->compiled, &spec, err);
}

tutti_status loss_graph_init(net *n, const model_graph *b, const plan_request *request,
                             loss_graph *h, tutti_error *err)
{
    *h = (loss_graph){.compiled = {.device = n->options.device}};
    if (!request->ntargets)
        return TUTTI_OK;
    tutti_status s = compiled_graph_begin(n, plan_mode(b->kind), "a plan", &h->compiled, err);
    if (!s)
        s = trace_loss_graph(n, b, request, h, err);
    if (s && h->compiled.g)
        (void)graph_error(h->compiled.g, err);
    if (!s)
        s = compile_loss(n, b, request, h, err);
    if (!s) {
        h->loss_data = device_alloc(h->compiled.device, tutti_nbytes(&h->loss));
        h->scale = device_alloc(h->compiled.device, tutti_nbytes(&h->loss));
        if (!h->loss_data || !h->scale)
            s = out_of_memory(err);
    }
    if (!s && n->compiled.plans->losses.npenalties && model_graph_trains(b))
        s = penalty_create(n, request, &h->penalty, err);
    if (s)
        loss_graph_fini(h);
    return s;
}

void loss_graph_fini(loss_graph *h)
{
    captures_drop(&h->merged, h->compiled.device);
    penalty_destroy(h->penalty);
    device_free(h->compiled.device, h->loss_data);
    device_free(h->compiled.device, h->scale);
    device_free(h->compiled.device, h->blend_loss);
    loss_blends_destroy(h->blends);
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++)
        device_free(h->compiled.device, h->own_target[k]);
    for (uint32_t k = 0; k < NET_MAX_OUTPUTS; k++)
        device_free(h->compiled.device, h->blend_dout[k]);
    compiled_graph_fini(&h->compiled);
    *h = (loss_graph){.scale = NULL};
}
