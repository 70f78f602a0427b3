/* graph_live.c - dead code elimination (DCE): marks the nodes that some results need. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/graph.h"

#include <string.h>

void graph_mark_live(const graph *g, const tutti_value *roots, uint32_t nroots, bool *live)
{
    memset(live, 0, sizeof *live * graph_nnodes(g));
    for (uint32_t k = 0; k < nroots; k++)
        if (roots[k] && graph_value_at(g, roots[k])->kind == VALUE_NODE)
            live[graph_value_at(g, roots[k])->index] = true;
    /* Nodes come after their inputs, so one loop from the end reaches everything. */
    for (uint32_t k = graph_nnodes(g); k-- > 0;) {
        if (!live[k])
            continue;
        const graph_node *n = graph_node_at(g, k);
        if (n->guard && graph_value_at(g, n->guard)->kind == VALUE_NODE)
            live[graph_value_at(g, n->guard)->index] = true;
        for (uint32_t j = 0; j < n->nin; j++)
            if (graph_value_at(g, n->in[j])->kind == VALUE_NODE)
                live[graph_value_at(g, n->in[j])->index] = true;
    }
}
