/* fuse_bias_grads.c - a product and the sums of one of its factors, a weight's gradient and its bias's, as one
 * node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/attr.h"
#include "graph/ir/traits.h"
#include "graph/passes/fuse.h"
#include "graph/passes/rewrite.h"

enum { NO_FACTOR = 2 };

static const tutti_desc *desc_of(const rewrite *r, tutti_value v)
{
    return &graph_value_at(r->from, v)->desc;
}

static int64_t last_dim(const tutti_desc *d)
{
    return d->rank ? d->dim[d->rank - 1] : 0;
}

/* What `v` is as rows of the same length. */
static tutti_value rows_of(const rewrite *r, tutti_value v)
{
    for (;;) {
        const graph_node *n = rewrite_producer(r, v);
        if (!n || !(n->op->flags & TUTTI_OP_VIEW) ||
            last_dim(desc_of(r, n->in[0])) != last_dim(desc_of(r, v)))
            return v;
        v = n->in[0];
    }
}

/* Sums over all rows. */
static bool sums_rows(const rewrite *r, const graph_node *n)
{
    if (!traits_have_role(n->op, TUTTI_ROLE_SUM))
        return false;
    const tutti_desc *x = desc_of(r, n->in[0]), *y = desc_of(r, n->out);
    return y->rank == 1 && y->dtype == TUTTI_F32 && tutti_numel(y) > 0 && x->rank > 1 &&
           last_dim(x) == y->dim[0];
}

/* Is factor `of` of a product, as rows that are multiplied over, what node `sums` adds up? */
static bool has_factor(const rewrite *r, const graph_node *p, uint32_t of,
                       const graph_node *sums)
{
    const tutti_desc *x = desc_of(r, p->in[of]);
    const bool transposed = attr_get(p->op, p->attr, of ? "transpose_b" : "transpose_a") != 0;
    return transposed == (of == 0) && last_dim(x) == desc_of(r, sums->out)->dim[0] &&
           tutti_numel(x) == tutti_numel(desc_of(r, sums->in[0])) &&
           rows_of(r, p->in[of]) == rows_of(r, sums->in[0]);
}

/* 0 or 1; NO_FACTOR: the two do not go together. */
static uint32_t factor_of(const rewrite *r, const graph_node *p, const graph_node *sums)
{
    if (!traits_fusion(p->op, TUTTI_FUSE_FACTOR_SUMS) || p->nin != p->op->nin_min ||
        attr_get(p->op, p->attr, "act") || p->guard != sums->guard ||
        p->segment != sums->segment || desc_of(r, p->in[0])->rank != 2 ||
        desc_of(r, p->in[1])->rank != 2)
        return NO_FACTOR;
    return has_factor(r, p, 0, sums) ? 0 : has_factor(r, p, 1, sums) ? 1 : NO_FACTOR;
}

static bool is_read(const rewrite *r, tutti_value v)
{
    return r->nreaders[v] || r->wanted[v];
}

static void find_pairs(rewrite *r)
{
    const uint32_t nnodes = graph_nnodes(r->from);
    for (uint32_t k = 0; k < nnodes; k++) {
        const graph_node *sums = graph_node_at(r->from, k);
        const bool here = sums_rows(r, sums) && is_read(r, sums->out);
        for (uint32_t j = 0; j < nnodes && here; j++) {
            const graph_node *p = graph_node_at(r->from, j);
            const uint32_t later = j > k ? j : k, earlier = j > k ? k : j;
            if (r->with[j] != REWRITE_NONE || r->gone[j] || !is_read(r, p->out) ||
                factor_of(r, p, sums) == NO_FACTOR ||
                r->first[j > k ? sums->out : p->out] < later) /* it cannot wait */
                continue;
            r->with[later] = earlier;
            r->gone[earlier] = true;
            break;
        }
    }
}

static rewrite_node join_pair(const rewrite *r, uint32_t k)
{
    const graph_node *n = graph_node_at(r->from, k);
    const graph_node *other = graph_node_at(r->from, r->with[k]);
    const graph_node *sums = traits_have_role(n->op, TUTTI_ROLE_SUM) ? n : other;
    const graph_node *p = sums == n ? other : n;
    rewrite_node both = rewrite_same(p);
    both.op = traits_fusion(p->op, TUTTI_FUSE_FACTOR_SUMS);
    both.place = n;
    both.of = factor_of(r, p, sums);
    both.nout = 2;
    both.out[1] = sums->out;
    return both;
}

tutti_status fuse_bias_grads(const graph *from, const bool *wanted, graph *to,
                             tutti_value *ret_map, tutti_error *err)
{
    static const rewrite_rule rule = {
        .find = find_pairs, .join = join_pair, .passes = GRAPH_PLAIN, .dtypes = true};
    return rewrite_graph(from, wanted, &rule, to, ret_map, err);
}
