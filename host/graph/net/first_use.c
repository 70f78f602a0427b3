/* first_use.c - the order in which a forward pass uses the weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/net_internal.h"

#include <string.h>

/* A batch of two samples as the columns describe them: how many inputs; 0 where they leave something open. */
static uint32_t small_batch(const net *n, tutti_desc *inputs)
{
    const char *const *names = n->model.table->inputs;
    uint32_t count = 0;
    for (uint32_t k = 0; names && names[k]; k++) {
        const tutti_column *c = NULL;
        for (uint32_t j = 0; j < n->ncolumns && !c; j++)
            c = strcmp(n->columns[j].name, names[k]) == 0 ? &n->columns[j] : NULL;
        if (!c || k >= TUTTI_MAX_COLUMNS || c->desc.rank >= TUTTI_MAX_RANK)
            return 0;
        tutti_desc *d = &inputs[count++];
        *d = (tutti_desc){{2}, c->desc.rank + 1, c->desc.dtype};
        for (int32_t j = 0; j < c->desc.rank; j++) {
            if (c->desc.dim[j] < 0)
                return 0;
            d->dim[j + 1] = c->desc.dim[j];
        }
    }
    return count;
}

static void number_weights(const graph *g, uint32_t *first_use)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < graph_nnodes(g); k++) {
        const graph_node *node = graph_node_at(g, k);
        for (uint32_t j = 0; j < node->nin; j++) {
            const graph_value *v = graph_value_at(g, node->in[j]);
            if (v->kind == VALUE_WEIGHT && !first_use[v->index])
                first_use[v->index] = ++count;
        }
    }
}

bool net_first_uses(net *n, uint32_t *first_use)
{
    tutti_desc descs[TUTTI_MAX_COLUMNS];
    tutti_value in[TUTTI_MAX_COLUMNS], out[NET_MAX_OUTPUTS] = {0};
    if (!n->model.table || n->model.table->noutputs > NET_MAX_OUTPUTS)
        return false;
    const uint32_t nin = small_batch(n, descs);
    graph *g = nin ? net_graph(n, TUTTI_MODE_TRAIN) : NULL;
    if (!g)
        return false;
    for (uint32_t k = 0; k < nin; k++)
        in[k] = graph_input(g, &descs[k]);
    /* net_plan will say what is wrong, with the real shapes */
    const bool traced =
        !net_trace_model(n, graph_builder(g), in, nin, out, n->model.table->noutputs);
    if (traced)
        number_weights(g, first_use);
    graph_destroy(g);
    return traced;
}
