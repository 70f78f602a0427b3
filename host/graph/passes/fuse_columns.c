/* fuse_columns.c - what reads the leading columns of logits, or their F32, reads the logits as they are. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/attr.h"
#include "graph/passes/align_gemms.h"
#include "graph/passes/fuse.h"
#include "graph/passes/rewrite.h"

/* Operations with this attribute read so many numbers of each row of operand 0, and give zeros behind them. */
#define COLUMNS "columns"

static void find_readers(rewrite *r)
{
    for (uint32_t k = 0; k < graph_nnodes(r->from); k++) {
        const graph_node *n = graph_node_at(r->from, k);
        if (attr_has(n->op, COLUMNS) && !attr_get(n->op, n->attr, COLUMNS) && n->nin &&
            align_gemms_look_through(r->from, n->in[0]) != n->in[0])
            r->with[k] = graph_value_at(r->from, n->in[0])->index;
    }
}

static rewrite_node look_through_cast(const rewrite *r, uint32_t k)
{
    const graph_node *n = graph_node_at(r->from, k);
    const tutti_desc *d = &graph_value_at(r->from, n->in[0])->desc;
    rewrite_node same = rewrite_same(n);
    same.in[0] = align_gemms_look_through(r->from, n->in[0]);
    same.columns = d->dim[d->rank - 1];
    return same;
}

tutti_status fuse_columns(const graph *from, const bool *wanted, graph *to,
                          tutti_value *ret_map, tutti_error *err)
{
    static const rewrite_rule rule = {
        .find = find_readers, .join = look_through_cast, .passes = GRAPH_PLAIN, .dtypes = true};
    return rewrite_graph(from, wanted, &rule, to, ret_map, err);
}
