/* fuse_loss_grads.c - a loss and its gradient for the logits as one node, where the loss was. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/traits.h"
#include "graph/passes/fuse.h"
#include "graph/passes/rewrite.h"

#include <string.h>

/* Has node `grad` the operands and attributes of node `loss`, and is what that becomes one with? */
static bool is_pair(const graph_node *loss, const graph_node *grad)
{
    const char *into = traits_fusion(loss->op, TUTTI_FUSE_LOSS_GRAD);
    const char *also = traits_fusion(grad->op, TUTTI_FUSE_LOSS_GRAD);
    bool fits = into && also && strcmp(into, also) == 0 && grad->nin == loss->nin + 1 &&
                !loss->guard && !grad->guard && loss->op->attr_size == grad->op->attr_size;
    for (uint32_t j = 0; fits && j < loss->nin; j++)
        fits = loss->in[j] == grad->in[j];
    return fits &&
           (!loss->op->attr_size || memcmp(loss->attr, grad->attr, loss->op->attr_size) == 0);
}

static bool is_read(const rewrite *r, const graph_node *n)
{
    return r->nreaders[n->out] || r->wanted[n->out];
}

/* Whether node `k` is one whose place does not matter: it draws nothing, runs always, and no pair is made of it. */
static bool may_move(const rewrite *r, uint32_t k)
{
    const graph_node *n = graph_node_at(r->from, k);
    const int32_t fold = traits_of(n->op)->fold;
    return !n->guard && r->with[k] == REWRITE_NONE && !r->gone[k] &&
           (fold == TUTTI_FOLD_CONSTANTS || fold == TUTTI_FOLD_IDENTITY);
}

/* Marks what cannot be there before node `loss`: its result, what depends on it, and what may not move. */
static void mark_dependent(const rewrite *r, uint32_t loss, uint32_t end)
{
    memset(r->marked, 0, sizeof *r->marked * graph_nvalues(r->from));
    for (uint32_t k = loss; k < end; k++) {
        const graph_node *n = graph_node_at(r->from, k);
        bool dependent = k == loss || !may_move(r, k);
        for (uint32_t j = 0; j < n->nin; j++)
            dependent = dependent || r->marked[n->in[j]];
        for (uint32_t j = 0; j < n->op->nout; j++)
            r->marked[n->out + j] = dependent;
    }
}

/* Whether a node between the two reads the logits: the gradient could not lie where they lie any more. */
static bool reads_between(const rewrite *r, uint32_t loss, uint32_t grad)
{
    const tutti_value logits = graph_node_at(r->from, loss)->in[0];
    for (uint32_t k = loss + 1; k < grad; k++) {
        const graph_node *n = graph_node_at(r->from, k);
        for (uint32_t j = 0; j < n->nin; j++)
            if (n->in[j] == logits)
                return true;
    }
    return false;
}

/* Whether gradient `grad` can be computed where node `loss` is. */
static bool can_join(const rewrite *r, uint32_t loss, uint32_t grad)
{
    const graph_node *l = graph_node_at(r->from, loss), *g = graph_node_at(r->from, grad);
    if (r->with[loss] != REWRITE_NONE || r->gone[loss] || !is_pair(l, g) || !is_read(r, l) ||
        !is_read(r, g) || reads_between(r, loss, grad))
        return false;
    mark_dependent(r, loss, grad);
    return !r->marked[g->in[g->nin - 1]];
}

static void find_pairs(rewrite *r)
{
    for (uint32_t k = 0; k < graph_nnodes(r->from); k++)
        for (uint32_t j = 0; j < k && !r->gone[k]; j++)
            if (can_join(r, j, k)) {
                r->with[j] = k;
                r->gone[k] = true;
            }
}

static rewrite_node join_pair(const rewrite *r, uint32_t k)
{
    const graph_node *loss = graph_node_at(r->from, k);
    rewrite_node both = rewrite_same(graph_node_at(r->from, r->with[k]));
    both.op = traits_fusion(loss->op, TUTTI_FUSE_LOSS_GRAD);
    both.place = loss;
    both.nout = 2;
    both.out[1] = loss->out;
    return both;
}

tutti_status fuse_loss_grads(const graph *from, const bool *wanted, graph *to,
                             tutti_value *ret_map, tutti_error *err)
{
    static const rewrite_rule rule = {.find = find_pairs,
                                      .join = join_pair,
                                      .passes = GRAPH_PLAIN,
                                      .dtypes = true,
                                      .early = true};
    return rewrite_graph(from, wanted, &rule, to, ret_map, err);
}
