/* flops.c - how much multiplying a graph asks for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/graph.h"

#include <string.h>

static double numel(const graph *g, tutti_value v)
{
    return (double)tutti_numel(&graph_value_at(g, v)->desc);
}

/* Two for every product.  A matrix of `a` has M K entries in either orientation, so K is that over
 * the result's rows. */
static double matmul_flops(const graph *g, const graph_node *n)
{
    const tutti_desc *y = &graph_value_at(g, n->out)->desc;
    const tutti_desc *a = &graph_value_at(g, n->in[0])->desc;
    if (y->rank < 2 || a->rank < 2)
        return 0.0;
    const double rows = (double)y->dim[y->rank - 2];
    const double inner =
        rows > 0.0 ? (double)a->dim[a->rank - 1] * (double)a->dim[a->rank - 2] / rows : 0.0;
    return 2.0 * numel(g, n->out) * inner;
}

/* `pixels` results of Cout channels, each a dot product with one filter of `w`. */
static double conv_flops(const graph *g, tutti_value pixels, tutti_value w)
{
    const tutti_desc *d = &graph_value_at(g, w)->desc;
    return d->rank && d->dim[0] ? 2.0 * numel(g, pixels) * numel(g, w) / (double)d->dim[0]
                                : 0.0;
}

double graph_flops(const graph *g)
{
    double sum = 0.0;
    for (uint32_t k = 0; k < graph_nnodes(g); k++) {
        const graph_node *n = graph_node_at(g, k);
        const char *op = n->op->name;
        if (strncmp(op, "matmul", strlen("matmul")) == 0) /* and those with an activation */
            sum += matmul_flops(g, n);
        else if (strcmp(op, "conv2d") == 0)
            sum += conv_flops(g, n->out, n->in[1]);
        else if (strcmp(op, "conv2d_grad_input") == 0)
            sum += conv_flops(g, n->in[0], n->in[1]);
        else if (strncmp(op, "conv2d_grad_weight", strlen("conv2d_grad_weight")) == 0)
            sum += conv_flops(g, n->in[1], n->out);
    }
    return sum;
}
