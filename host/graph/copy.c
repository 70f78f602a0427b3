/* copy.c - leaves and assignments of a graph in another. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/copy.h"

tutti_value graph_copy_leaf(const graph *from, tutti_value v, graph *to)
{
    const graph_value *x = graph_value_at(from, v);
    const tutti_tensor t = {(void *)(uintptr_t)x->data, x->desc, TUTTI_DEVICE_CPU, 0};
    tutti_graph *b = graph_builder(to);
    if (x->kind == VALUE_INPUT)
        return graph_input(to, &x->desc);
    if (x->kind == VALUE_WEIGHT)
        return graph_weight(to, x->index, &x->desc, x->trainable);
    return b->constant(b, &t);
}

void graph_copy_assigns(const graph *from, graph *to, const tutti_value *map)
{
    tutti_graph *b = graph_builder(to);
    for (uint32_t k = 0; k < graph_nassigns(from); k++) {
        const graph_assign a = graph_assign_at(from, k);
        for (tutti_value v = 1; v < graph_nvalues(from); v++) {
            const graph_value *x = graph_value_at(from, v);
            if (x->kind == VALUE_WEIGHT && x->index == a.weight)
                b->assign(b, map[v], map[a.value]);
        }
    }
}
