/* plan_values.c - the values of a plan's forward pass, for who draws the model. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/plan_internal.h"

uint32_t plan_nvalues(const plan *p)
{
    return graph_nvalues(p->model_graph->compiled.g) - 1;
}

static const char *path_of(const net *n, uint32_t id)
{
    for (uint32_t k = 0; k < n->tree.norder; k++)
        if (n->tree.order[k]->id == id)
            return net_weight(n, k)->path;
    return "";
}

/* An input behind the model's own is a gradient of its outputs. */
static void tell_input(const plan *p, const graph_value *v, tutti_planned_value *ret)
{
    if (v->index >= p->model_graph->ninputs)
        return;
    ret->kind = TUTTI_PLANNED_INPUT;
    ret->name = p->n->model.table->inputs[v->index];
}

static void tell_result(const graph_node *n, tutti_planned_value *ret)
{
    if (n->segment != SEGMENT_FORWARD || n->recomputes)
        return;
    ret->kind = TUTTI_PLANNED_RESULT;
    ret->name = n->op->name;
    ret->module = n->scope;
    ret->operands = n->in;
    ret->noperands = n->nin;
    ret->first = n->out;
}

void plan_value(const plan *p, uint32_t k, tutti_planned_value *ret_value)
{
    const graph *g = p->model_graph->compiled.g;
    const graph_value *v = graph_value_at(g, k);
    *ret_value = (tutti_planned_value){.struct_size = sizeof *ret_value,
                                       .kind = TUTTI_PLANNED_OTHER,
                                       .name = "",
                                       .module = "",
                                       .first = k,
                                       .desc = v->desc};
    switch (v->kind) {
    case VALUE_NODE:
        tell_result(graph_node_at(g, v->index), ret_value);
        break;
    case VALUE_INPUT:
        tell_input(p, v, ret_value);
        break;
    case VALUE_WEIGHT:
        ret_value->kind = TUTTI_PLANNED_WEIGHT;
        ret_value->name = path_of(p->n, v->index);
        break;
    default:
        ret_value->kind = TUTTI_PLANNED_CONSTANT;
        break;
    }
}
