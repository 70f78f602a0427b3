/* fuse_products.c - a product and the activation, or an activation's gradient, behind it as one node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/attr.h"
#include "graph/copy.h"
#include "graph/fuse.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum { RELU = 1, GELU, GELU_TANH }; /* attribute `act` of matmul */

typedef struct fuser {
    const graph *from;
    graph *to;
    const bool *wanted;
    tutti_value *map;
    uint32_t *nreaders; /* by value */
    uint32_t *with; /* by node: the activation that a product takes in, or the product that a
                           gradient takes in, or NONE */
    bool *gone;     /* by node: part of another */
} fuser;

static bool is_op(const graph_node *n, const char *name)
{
    return strcmp(n->op->name, name) == 0;
}

static int64_t attribute(const graph_node *n, const char *name)
{
    tutti_attr attr[GRAPH_MAX_ATTR];
    tutti_list lists[GRAPH_MAX_ATTR];
    attr_encode(n->op, n->attr, lists, attr);
    for (uint64_t k = 0; k < n->op->nfields; k++)
        if (strcmp(attr[k].name, name) == 0)
            return attr[k].i;
    return 0;
}

/* 0: it is none. */
static int64_t act_of(const graph_node *n, const char *relu, const char *gelu)
{
    if (is_op(n, relu))
        return RELU;
    return !is_op(n, gelu) ? 0 : attribute(n, "approximate") ? GELU_TANH : GELU;
}

static bool same_desc(const fuser *f, tutti_value a, tutti_value b)
{
    const tutti_desc *x = &graph_value_at(f->from, a)->desc;
    const tutti_desc *y = &graph_value_at(f->from, b)->desc;
    return x->dtype == y->dtype && tutti_same_shape(x, y);
}

/* The product that gives `v` and may go together with node `n`; NONE. */
static uint32_t product_of(const fuser *f, tutti_value v, const graph_node *n)
{
    const graph_value *x = graph_value_at(f->from, v);
    if (x->kind != VALUE_NODE || !same_desc(f, v, n->out))
        return NONE;
    const graph_node *p = graph_node_at(f->from, x->index);
    const bool fits = is_op(p, "matmul") && !attribute(p, "act") && p->guard == n->guard &&
                      p->segment == n->segment && f->with[x->index] == NONE &&
                      !f->gone[x->index];
    return fits ? x->index : NONE;
}

static void find_pairs(fuser *f)
{
    for (uint32_t k = 0; k < graph_nnodes(f->from); k++) {
        const graph_node *n = graph_node_at(f->from, k);
        if (act_of(n, "relu", "gelu")) {
            const uint32_t p = product_of(f, n->in[0], n);
            if (p != NONE) {
                f->with[p] = k;
                f->gone[k] = true;
            }
        } else if (act_of(n, "relu_grad", "gelu_grad") && same_desc(f, n->in[1], n->out)) {
            const uint32_t p = product_of(f, n->in[0], n);
            const tutti_value d = n->in[0];
            if (p != NONE && graph_node_at(f->from, p)->nin == 2 && f->nreaders[d] == 1 &&
                !f->wanted[d]) {
                f->with[k] = p;
                f->gone[p] = true;
            }
        }
    }
}

/* Emits `op` where `place` was, with the attributes of `n` and, unless 0, act; its results come to
 * out, like those of values from[0..nout). */
static void emit(const fuser *f, const graph_node *place, const char *op, const graph_node *n,
                 const tutti_value *in, uint32_t nin, int64_t act, const tutti_value *from,
                 uint32_t nout)
{
    tutti_graph *b = graph_builder(f->to);
    tutti_attr attr[GRAPH_MAX_ATTR + 1];
    tutti_list lists[GRAPH_MAX_ATTR];
    tutti_value out[TUTTI_OP_MAX_OUT];
    uint32_t nattr = (uint32_t)n->op->nfields;
    attr_encode(n->op, n->attr, lists, attr);
    if (act)
        attr[nattr++] = tutti_attr_i("act", act);
    graph_set_segment(f->to, place->segment);
    (void)graph_set_scope(f->to, place->scope);
    (void)graph_set_guard(f->to, f->map[place->guard]);
    (void)b->emit(b, op, in, nin, attr, nattr, out, nout);
    (void)graph_set_guard(f->to, 0);
    for (uint32_t k = 0; k < nout && !b->status(b); k++) {
        f->map[from[k]] = out[k];
        graph_set_dtype(f->to, out[k], graph_value_at(f->from, from[k])->desc.dtype);
    }
}

static void copy_node(const fuser *f, uint32_t k)
{
    const graph_node *n = graph_node_at(f->from, k);
    const graph_node *other = f->with[k] != NONE ? graph_node_at(f->from, f->with[k]) : NULL;
    tutti_value in[TUTTI_OP_MAX_IN], from[TUTTI_OP_MAX_OUT];
    if (other && other->op != n->op && is_op(other, "matmul")) { /* and n is a gradient */
        in[0] = f->map[other->in[0]];
        in[1] = f->map[other->in[1]];
        in[2] = f->map[n->in[1]];
        emit(f, n, "matmul_act_grad", other, in, 3, act_of(n, "relu_grad", "gelu_grad"),
             &n->out, 1);
        return;
    }
    for (uint32_t j = 0; j < n->nin; j++)
        in[j] = f->map[n->in[j]];
    for (uint32_t j = 0; j < n->op->nout; j++)
        from[j] = n->out + j;
    if (other) {
        const bool both = f->nreaders[n->out] > 1 || f->wanted[n->out];
        from[0] = other->out;
        from[1] = n->out;
        emit(f, n, both ? "matmul_act" : "matmul", n, in, n->nin, act_of(other, "relu", "gelu"),
             from, both ? 2 : 1);
    } else {
        emit(f, n, n->op->name, n, in, n->nin, 0, from, n->op->nout);
    }
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

tutti_status fuse_products(const graph *from, const bool *wanted, graph *to,
                           tutti_value *ret_map, tutti_error *err)
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
        for (uint32_t k = 0; k < nnodes; k++) {
            const graph_node *n = graph_node_at(from, k);
            f.with[k] = NONE;
            f.nreaders[n->guard]++;
            for (uint32_t j = 0; j < n->nin; j++)
                f.nreaders[n->in[j]]++;
        }
        find_pairs(&f);
        copy_all(&f);
        s = graph_error(to, err);
    }
    free(f.nreaders);
    free(f.with);
    free(f.gone);
    return s;
}
