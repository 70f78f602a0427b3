/* eval_graph.c - a net's forward pass in evaluation mode as a graph, for who writes it down. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/eval_graph.h"

#include "graph/net/net_internal.h"

#include <string.h>

/* The shape of input `name` for so many samples. */
static tutti_status describe_input(const net *n, const char *name, int64_t samples,
                                   tutti_desc *ret, tutti_error *err)
{
    const tutti_column *c = NULL;
    char text[96];
    for (uint32_t k = 0; k < n->ncolumns && !c; k++)
        c = strcmp(n->columns[k].name, name) == 0 ? &n->columns[k] : NULL;
    if (!c || c->desc.rank >= TUTTI_MAX_RANK)
        return tutti_fail(err, TUTTI_E_SHAPE, "the data has no column \"%s\" that fits", name);
    *ret = (tutti_desc){{samples}, c->desc.rank + 1, c->desc.dtype};
    for (int32_t k = 0; k < c->desc.rank; k++) {
        if (c->desc.dim[k] < 0)
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "the data's column \"%s\" is %s: its size is not known", name,
                              tutti_desc_text(&c->desc, text, sizeof text));
        ret->dim[k + 1] = c->desc.dim[k];
    }
    return TUTTI_OK;
}

static tutti_status trace_inputs(net *n, int64_t samples, eval_graph *e, tutti_error *err)
{
    const char *const *names = n->model.table->inputs;
    for (; names && names[e->ninputs]; e->ninputs++) {
        tutti_desc d;
        tutti_status s = e->ninputs < TUTTI_MAX_COLUMNS
                             ? describe_input(n, names[e->ninputs], samples, &d, err)
                             : tutti_fail(err, TUTTI_E_RANGE, "the model has too many inputs");
        if (s)
            return s;
        e->names[e->ninputs] = names[e->ninputs];
        e->inputs[e->ninputs] = graph_input(e->g, &d);
    }
    return TUTTI_OK;
}

tutti_status eval_graph_trace(net *n, int64_t samples, eval_graph *ret, tutti_error *err)
{
    eval_graph e = {.noutputs = n->model.table->noutputs};
    if (e.noutputs > EVAL_GRAPH_MAX_OUTPUTS)
        return tutti_fail(err, TUTTI_E_RANGE, "the model has %u outputs, want %d at most",
                          e.noutputs, EVAL_GRAPH_MAX_OUTPUTS);
    if (!(e.g = net_graph(n, TUTTI_MODE_EVAL)))
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a graph");
    graph_set_passes(e.g, GRAPH_MERGE);
    graph_set_fast(e.g, 0);
    tutti_status s = trace_inputs(n, samples, &e, err);
    tutti_graph *b = graph_builder(e.g);
    if (!s && net_trace_model(n, b, e.inputs, e.ninputs, e.outputs, e.noutputs))
        s = graph_error(e.g, err);
    for (uint32_t k = 0; k < e.noutputs && !s; k++)
        if (!e.outputs[k])
            s = tutti_fail(err, TUTTI_E_FAIL, "trace left an output of the model empty");
    if (s)
        eval_graph_fini(&e);
    else
        *ret = e;
    return s;
}

void eval_graph_fini(eval_graph *e)
{
    graph_destroy(e->g);
    e->g = NULL;
}

const tutti_weight *eval_graph_weight(const net *n, uint32_t id)
{
    for (uint32_t k = 0; k < n->tree.norder; k++)
        if (n->tree.order[k]->id == id)
            return &n->tree.views[k];
    return NULL;
}
