/* plan_reference.c - what a plan computes, by the f64 interpreter instead of the kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/plan_reference.h"
#include "graph/ir/interpreter.h"
#include "graph/plan/plan_internal.h"

#include <stdlib.h>
#include <string.h>

static void load_weights(const net *n, const graph *g, interpreter *it)
{
    for (tutti_value v = 1; v < graph_nvalues(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        const tutti_tensor t = {value->kind == VALUE_WEIGHT ? n->tree.addresses[value->index]
                                                            : NULL,
                                value->desc, TUTTI_DEVICE_CPU, 0};
        if (t.data)
            interpreter_load(it, v, &t);
    }
}

static uint32_t backward_start(const graph *g)
{
    uint32_t k = 0;
    while (k < graph_nnodes(g) && graph_node_at(g, k)->segment == 0)
        k++;
    return k;
}

static void copy_value(interpreter *from, tutti_value v, const graph *g, double *to)
{
    memcpy(to, interpreter_value(from, v),
           sizeof *to * (size_t)tutti_numel(&graph_value_at(g, v)->desc));
}

/* Outputs -> loss and, into the model's interpreter, gradients of the outputs. */
static tutti_status run_loss(plan *p, interpreter *model_it, const tutti_step *step,
                             float scale, plan_numbers *r, tutti_error *err)
{
    const model_graph *b = p->model_graph;
    const loss_graph *h = &p->loss_graph;
    interpreter *it;
    tutti_status s = interpreter_create(h->compiled.g, &it, err);
    if (s)
        return s;
    load_weights(p->n, h->compiled.g, it);
    for (uint32_t k = 0; k < b->noutputs; k++)
        memcpy(interpreter_value(it, h->inputs[k]), interpreter_value(model_it, b->outputs[k]),
               sizeof(double) *
                   (size_t)tutti_numel(&graph_value_at(b->compiled.g, b->outputs[k])->desc));
    for (uint32_t k = 0; k < p->request.ntargets; k++) {
        const tutti_tensor t = plan_target(p, k);
        interpreter_load(it, h->inputs[b->noutputs + k], &t);
    }
    interpreter_value(it, h->inputs[b->noutputs + p->request.ntargets])[0] = (double)scale;
    s = interpreter_run(it, 0, graph_nnodes(h->compiled.g), step, err);
    r->loss = calloc((size_t)tutti_numel(&h->loss) + 1, sizeof(double));
    if (!s && !r->loss)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for the reference");
    if (!s)
        copy_value(it, h->loss_value, h->compiled.g, r->loss);
    for (uint32_t k = 0; k < b->noutputs && !s; k++)
        if (b->douts[k] && h->douts[k])
            copy_value(it, h->douts[k], h->compiled.g,
                       interpreter_value(model_it, b->douts[k]));
    interpreter_destroy(it);
    return s;
}

static tutti_status take_results(const plan *p, interpreter *it, plan_numbers *r,
                                 tutti_error *err)
{
    const net *n = p->n;
    const model_graph *b = p->model_graph;
    size_t outputs = 1, buffers = 1, at = 0;
    for (uint32_t k = 0; k < b->noutputs; k++)
        outputs += (size_t)tutti_numel(&graph_value_at(b->compiled.g, b->outputs[k])->desc);
    for (uint32_t k = 0; k < n->tree.norder; k++)
        buffers +=
            n->tree.order[k]->offset < 0 ? (size_t)tutti_numel(&n->tree.order[k]->desc) : 0;
    r->outputs = calloc(outputs, sizeof *r->outputs);
    r->assigned = calloc(buffers, sizeof *r->assigned);
    r->grads =
        model_graph_trains(b) ? calloc((size_t)n->storage.count + 1, sizeof *r->grads) : NULL;
    if (!r->outputs || !r->assigned || (model_graph_trains(b) && !r->grads))
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the reference");
    for (uint32_t k = 0; k < b->noutputs; k++) {
        copy_value(it, b->outputs[k], b->compiled.g, r->outputs + at);
        at += (size_t)tutti_numel(&graph_value_at(b->compiled.g, b->outputs[k])->desc);
    }
    at = 0;
    for (uint32_t k = 0; k < n->tree.norder; k++) {
        const weight *w = n->tree.order[k];
        const tutti_tensor t = {w->data, w->desc, TUTTI_DEVICE_CPU, 0};
        if (w->offset >= 0 && r->grads && b->grads[k])
            copy_value(it, b->grads[k], b->compiled.g, r->grads + w->offset);
        if (w->offset >= 0)
            continue;
        for (int64_t j = 0; j < tutti_numel(&w->desc); j++)
            r->assigned[at + (size_t)j] = tensor_get(&t, j);
        for (uint32_t j = 0; j < graph_nassigns(b->compiled.g); j++)
            if (graph_assign_at(b->compiled.g, j).weight == w->id)
                copy_value(it, graph_assign_at(b->compiled.g, j).value, b->compiled.g,
                           r->assigned + at);
        at += (size_t)tutti_numel(&w->desc);
    }
    return TUTTI_OK;
}

tutti_status plan_reference(plan *p, const tutti_step *step, float loss_scale,
                            plan_numbers *ret_numbers, tutti_error *err)
{
    const model_graph *b = p->model_graph;
    const uint32_t cut = backward_start(b->compiled.g);
    plan_numbers r = {NULL, NULL, NULL, NULL};
    interpreter *it;
    tutti_status s = net_fill_weights(p->n, err);
    if (s || (s = interpreter_create(b->compiled.g, &it, err)))
        return s;
    load_weights(p->n, b->compiled.g, it);
    for (uint32_t k = 0; k < b->ninputs; k++) {
        const tutti_tensor t = plan_input(p, k);
        interpreter_load(it, b->inputs[k], &t);
    }
    s = interpreter_run(it, 0, cut, step, err);
    if (!s && p->loss_graph.compiled.g)
        s = run_loss(p, it, step, loss_scale, &r, err);
    if (!s)
        s = interpreter_run(it, cut, graph_nnodes(b->compiled.g), step, err);
    if (!s)
        s = take_results(p, it, &r, err);
    interpreter_destroy(it);
    if (s)
        plan_numbers_fini(&r);
    else
        *ret_numbers = r;
    return s;
}

void plan_numbers_fini(plan_numbers *numbers)
{
    free(numbers->outputs);
    free(numbers->loss);
    free(numbers->grads);
    free(numbers->assigned);
    *numbers = (plan_numbers){NULL, NULL, NULL, NULL};
}
