/* graph_dump.c - a graph as text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/attr.h"
#include "graph/ir/graph.h"

#include <stdio.h>

void graph_dump(const graph *g, FILE *file)
{
    char text[96];
    static const char *const kinds[] = {"", "input", "weight", "constant"};
    for (tutti_value v = 1; v < graph_nvalues(g); v++)
        if (graph_value_at(g, v)->kind != VALUE_NODE)
            (void)fprintf(file, "%%%u %s = %s %u\n", v,
                          tutti_desc_text(&graph_value_at(g, v)->desc, text, sizeof text),
                          kinds[graph_value_at(g, v)->kind], graph_value_at(g, v)->index);
    for (uint32_t k = 0; k < graph_nnodes(g); k++) {
        const graph_node *n = graph_node_at(g, k);
        for (uint32_t j = 0; j < n->op->nout; j++)
            (void)fprintf(
                file, "%s%%%u %s", j ? ", " : "", n->out + j,
                tutti_desc_text(&graph_value_at(g, n->out + j)->desc, text, sizeof text));
        (void)fprintf(file, " = %s(", n->op->name);
        for (uint32_t j = 0; j < n->nin; j++)
            (void)fprintf(file, "%s%%%u", j ? ", " : "", n->in[j]);
        (void)fprintf(file, ")");
        attr_dump(n->op, n->attr, file);
        if (n->guard)
            (void)fprintf(file, " if %%%u", n->guard);
        if (n->recomputes)
            (void)fprintf(file, " again %%%u", n->recomputes);
        (void)fprintf(file, *n->scope ? "  # %s\n" : "%s\n", n->scope);
    }
    for (uint32_t k = 0; k < graph_nassigns(g); k++)
        (void)fprintf(file, "weight %u := %%%u\n", graph_assign_at(g, k).weight,
                      graph_assign_at(g, k).value);
}
