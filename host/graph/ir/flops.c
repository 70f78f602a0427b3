/* flops.c - how much multiplying a graph asks for, as its operations count it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/graph.h"
#include "graph/ir/traits.h"

static double node_flops(const graph *g, const graph_node *n)
{
    const tutti_op_traits *t = traits_of(n->op);
    tutti_desc in[TUTTI_OP_MAX_IN], out[TUTTI_OP_MAX_OUT];
    if (t->work != TUTTI_WORK_PRODUCTS || !t->flops)
        return 0.0;
    for (uint32_t k = 0; k < n->nin; k++)
        in[k] = graph_value_at(g, n->in[k])->desc;
    for (uint32_t k = 0; k < n->op->nout; k++)
        out[k] = graph_value_at(g, n->out + k)->desc;
    const tutti_op_call call = {sizeof call, n->nin,  n->op->nout, 1,    in,
                                out,         n->attr, NULL,        NULL, NULL};
    return t->flops(&call);
}

double graph_flops(const graph *g)
{
    double sum = 0.0;
    for (uint32_t k = 0; k < graph_nnodes(g); k++)
        sum += node_flops(g, graph_node_at(g, k));
    return sum;
}
