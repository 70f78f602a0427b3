/* fuse_sums.c - a product or a convolution's sums and the addition behind it as one node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/attr.h"
#include "graph/copy.h"
#include "graph/fuse.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

typedef struct fuser {
    const graph *from;
    graph *to;
    const bool *wanted;
    tutti_value *map;
    uint32_t *nreaders; /* by value */
    uint32_t *with;     /* by node: the product that an addition takes in, or NONE */
    bool *gone;         /* by node: part of another */
} fuser;

static bool is_op(const graph_node *n, const char *name)
{
    return strcmp(n->op->name, name) == 0;
}

static bool has_activation(const graph_node *n)
{
    return attr_is_set(n->op, n->attr, "act");
}

/* What node `n` and an addition are together; NULL: nothing. */
static const char *joined(const graph_node *n)
{
    if (is_op(n, "matmul"))
        return has_activation(n) ? NULL : "matmul_add";
    return is_op(n, "conv2d_grad_weight") ? "conv2d_grad_weight_add" : NULL;
}

/* The product that gives `v` to node `n` alone; NONE. */
static uint32_t product_of(const fuser *f, tutti_value v, const graph_node *n)
{
    const graph_value *x = graph_value_at(f->from, v);
    const graph_value *sum = graph_value_at(f->from, n->out);
    if (x->kind != VALUE_NODE || f->nreaders[v] != 1 || f->wanted[v])
        return NONE;
    const graph_node *p = graph_node_at(f->from, x->index);
    const bool fits = joined(p) && p->guard == n->guard && p->segment == n->segment &&
                      tutti_same_shape(&x->desc, &sum->desc);
    return fits ? x->index : NONE;
}

/* What is added has to have the shape and dtype of the sum. */
static bool can_be_added(const fuser *f, tutti_value v, const graph_node *n)
{
    const tutti_desc *x = &graph_value_at(f->from, v)->desc;
    const tutti_desc *sum = &graph_value_at(f->from, n->out)->desc;
    return x->dtype == sum->dtype && tutti_same_shape(x, sum);
}

/* Of two products the later one, which can add to the other as it comes. */
static void find_pairs(fuser *f)
{
    for (uint32_t k = 0; k < graph_nnodes(f->from); k++) {
        const graph_node *n = graph_node_at(f->from, k);
        f->with[k] = NONE;
        for (uint32_t j = 0; j < 2 && is_op(n, "add") && n->nin == 2; j++) {
            const uint32_t p = product_of(f, n->in[j], n);
            if (p != NONE && can_be_added(f, n->in[1 - j], n) &&
                (f->with[k] == NONE || p > f->with[k]))
                f->with[k] = p;
        }
        if (f->with[k] != NONE)
            f->gone[f->with[k]] = true;
    }
}

static void emit(const fuser *f, const graph_node *place, const char *op, const graph_node *n,
                 const tutti_value *in, uint32_t nin)
{
    tutti_graph *b = graph_builder(f->to);
    tutti_attr attr[GRAPH_MAX_ATTR];
    tutti_list lists[GRAPH_MAX_ATTR];
    tutti_value out[TUTTI_OP_MAX_OUT];
    attr_encode(n->op, n->attr, lists, attr);
    graph_set_segment(f->to, place->segment);
    (void)graph_set_scope(f->to, place->scope);
    (void)graph_set_guard(f->to, f->map[place->guard]);
    (void)b->emit(b, op, in, nin, attr, (uint32_t)n->op->nfields, out, place->op->nout);
    (void)graph_set_guard(f->to, 0);
    for (uint32_t k = 0; k < place->op->nout && !b->status(b); k++) {
        f->map[place->out + k] = out[k];
        graph_set_dtype(f->to, out[k], graph_value_at(f->from, place->out + k)->desc.dtype);
    }
}

static void copy_node(const fuser *f, uint32_t k)
{
    const graph_node *n = graph_node_at(f->from, k);
    tutti_value in[TUTTI_OP_MAX_IN];
    if (f->with[k] == NONE) {
        for (uint32_t j = 0; j < n->nin; j++)
            in[j] = f->map[n->in[j]];
        emit(f, n, n->op->name, n, in, n->nin);
        return;
    }
    const graph_node *p = graph_node_at(f->from, f->with[k]);
    in[0] = f->map[p->in[0]];
    in[1] = f->map[p->in[1]];
    in[2] = f->map[n->in[n->in[0] == p->out]];
    if (p->nin > 2)
        in[3] = f->map[p->in[2]];
    emit(f, n, joined(p), p, in, p->nin + 1);
}

static void copy_all(const fuser *f)
{
    graph_set_passes(f->to, GRAPH_PLAIN);
    for (tutti_value v = 1; v < graph_nvalues(f->from); v++) {
        const graph_value *x = graph_value_at(f->from, v);
        if (x->kind != VALUE_NODE)
            f->map[v] = graph_copy_leaf(f->from, v, f->to);
        else if (graph_node_at(f->from, x->index)->out == v && !f->gone[x->index])
            copy_node(f, x->index);
    }
    graph_copy_assigns(f->from, f->to, f->map);
}

static void count_readers(const fuser *f)
{
    for (uint32_t k = 0; k < graph_nnodes(f->from); k++) {
        const graph_node *n = graph_node_at(f->from, k);
        f->nreaders[n->guard]++;
        for (uint32_t j = 0; j < n->nin; j++)
            f->nreaders[n->in[j]]++;
    }
}

tutti_status fuse_sums(const graph *from, const bool *wanted, graph *to, tutti_value *ret_map,
                       tutti_error *err)
{
    const uint32_t nvalues = graph_nvalues(from), nnodes = graph_nnodes(from);
    fuser f = {.from = from, .to = to, .wanted = wanted, .map = ret_map};
    f.nreaders = calloc(nvalues, sizeof *f.nreaders);
    f.with = malloc(((size_t)nnodes + 1) * sizeof *f.with);
    f.gone = calloc((size_t)nnodes + 1, sizeof *f.gone);
    memset(ret_map, 0, sizeof *ret_map * nvalues);
    tutti_status s = TUTTI_OK;
    if (!f.nreaders || !f.with || !f.gone)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
    if (!s) {
        count_readers(&f);
        find_pairs(&f);
        copy_all(&f);
        s = graph_error(to, err);
    }
    free(f.nreaders);
    free(f.with);
    free(f.gone);
    return s;
}
