/* autocast.c - mixed precision, as a pass: a copy of a graph in which activations have 16 bits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/autocast.h"
#include "graph/passes/rewrite.h"

#include <string.h>

tutti_status autocast_graph(const graph *from, const graph_autocast *autocast, graph *to,
                            tutti_value *ret_map, tutti_error *err)
{
    tutti_graph *b = graph_builder(to);
    memset(ret_map, 0, sizeof *ret_map * graph_nvalues(from));
    graph_set_autocast(to, autocast);
    for (tutti_value v = 1; v < graph_nvalues(from) && !b->status(b); v++) {
        const graph_value *x = graph_value_at(from, v);
        const graph_node *n = x->kind == VALUE_NODE ? graph_node_at(from, x->index) : NULL;
        if (!n) {
            ret_map[v] = rewrite_leaf(from, v, to);
        } else if (n->out == v) {
            const rewrite_node same = rewrite_same(n);
            rewrite_emit(to, &same, ret_map);
        }
    }
    if (!b->status(b))
        rewrite_assigns(from, to, ret_map);
    return graph_error(to, err);
}
