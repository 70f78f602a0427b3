/* fuse.c - a normalisation with the residual and the ReLU behind it as one node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/fuse.h"
#include "graph/attr.h"
#include "graph/copy.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

typedef struct fuser {
    const graph *from;
    tutti_graph *to;
    const bool *wanted;
    tutti_value *map;
    uint32_t *nreaders; /* by value */
    uint32_t *first;    /* by value: its first reader */
    bool *gone;         /* by node: part of a later one */
    tutti_attr *attr;   /* of one node and one more */
    tutti_list *lists;
} fuser;

/* A ReLU and what goes into it. */
typedef struct match {
    uint32_t norm;        /* node */
    uint32_t add;         /* node, or NONE */
    tutti_value residual; /* 0: none */
} match;

static const graph_node *maker(const fuser *f, tutti_value v)
{
    const graph_value *x = graph_value_at(f->from, v);
    return x->kind == VALUE_NODE ? graph_node_at(f->from, x->index) : NULL;
}

static bool is_op(const graph_node *n, const char *name)
{
    return n && strcmp(n->op->name, name) == 0;
}

static bool read_once(const fuser *f, tutti_value v)
{
    return f->nreaders[v] == 1 && !f->wanted[v];
}

/* May `v`, the result of a normalisation, be computed by node `end` instead? */
static bool is_norm(const fuser *f, tutti_value v, uint32_t end)
{
    const graph_node *n = maker(f, v);
    if (!is_op(n, "batch_norm") && !is_op(n, "batch_norm_eval"))
        return false;
    if (v != n->out || n->nin != 5 || !read_once(f, v) ||
        n->guard != graph_node_at(f->from, end)->guard)
        return false;
    attr_encode(n->op, n->attr, f->lists, f->attr);
    for (uint64_t k = 0; k < n->op->nfields; k++)
        if (strcmp(f->attr[k].name, "act") == 0 && f->attr[k].i != 0)
            return false;
    for (uint32_t k = 1; k < n->op->nout; k++)
        if (f->first[v + k] <= end)
            return false;
    return true;
}

static bool same_desc(const fuser *f, tutti_value a, tutti_value b)
{
    const tutti_desc *x = &graph_value_at(f->from, a)->desc;
    const tutti_desc *y = &graph_value_at(f->from, b)->desc;
    return x->dtype == y->dtype && tutti_same_shape(x, y);
}

static bool find_match(const fuser *f, uint32_t k, match *ret)
{
    const graph_node *relu = graph_node_at(f->from, k);
    if (!is_op(relu, "relu"))
        return false;
    const tutti_value u = relu->in[0];
    *ret = (match){NONE, NONE, 0};
    if (is_norm(f, u, k)) {
        ret->norm = graph_value_at(f->from, u)->index;
        return true;
    }
    const graph_node *add = maker(f, u);
    if (!is_op(add, "add") || add->guard != relu->guard || !read_once(f, u) ||
        !same_desc(f, add->in[0], add->in[1]))
        return false;
    for (int j = 0; j < 2; j++) { /* of two normalisations the later one */
        const uint32_t norm = graph_value_at(f->from, add->in[j])->index;
        if (is_norm(f, add->in[j], k) && (ret->norm == NONE || norm > ret->norm))
            *ret = (match){norm, graph_value_at(f->from, u)->index, add->in[1 - j]};
    }
    return ret->norm != NONE;
}

/* Emits `n` with inputs in[0..nin) and, when `act`, that attribute; maps its results but the first. */
static tutti_value emit(fuser *f, const graph_node *n, const tutti_value *in, uint32_t nin,
                        bool act)
{
    tutti_value out[TUTTI_OP_MAX_OUT];
    uint32_t nattr = (uint32_t)n->op->nfields;
    graph *g = graph_of(f->to);
    attr_encode(n->op, n->attr, f->lists, f->attr);
    if (act)
        f->attr[nattr++] = tutti_attr_i("act", 1);
    graph_set_segment(g, n->segment);
    (void)graph_set_scope(g, n->scope);
    (void)graph_set_guard(g, f->map[n->guard]);
    (void)f->to->emit(f->to, n->op->name, in, nin, f->attr, nattr, out, n->op->nout);
    (void)graph_set_guard(g, 0);
    for (uint32_t k = 1; k < n->op->nout; k++)
        f->map[n->out + k] = out[k];
    return out[0];
}

static void copy_node(fuser *f, uint32_t k)
{
    const graph_node *n = graph_node_at(f->from, k);
    tutti_value in[TUTTI_OP_MAX_IN];
    match m;
    if (find_match(f, k, &m)) {
        const graph_node *norm = graph_node_at(f->from, m.norm);
        for (uint32_t j = 0; j < norm->nin; j++)
            in[j] = f->map[norm->in[j]];
        in[norm->nin] = f->map[m.residual];
        f->map[n->out] = emit(f, norm, in, norm->nin + (m.residual != 0), true);
        return;
    }
    for (uint32_t j = 0; j < n->nin; j++)
        in[j] = f->map[n->in[j]];
    f->map[n->out] = emit(f, n, in, n->nin, false);
}

static void count_readers(const fuser *f)
{
    for (tutti_value v = 0; v < graph_nvalues(f->from); v++)
        f->first[v] = NONE;
    for (uint32_t k = 0; k < graph_nnodes(f->from); k++) {
        const graph_node *n = graph_node_at(f->from, k);
        f->nreaders[n->guard]++;
        for (uint32_t j = 0; j < n->nin; j++) {
            f->nreaders[n->in[j]]++;
            if (f->first[n->in[j]] == NONE)
                f->first[n->in[j]] = k;
        }
    }
}

static void copy_all(fuser *f)
{
    match m;
    count_readers(f);
    for (uint32_t k = 0; k < graph_nnodes(f->from); k++)
        if (find_match(f, k, &m)) {
            f->gone[m.norm] = true;
            if (m.add != NONE)
                f->gone[m.add] = true;
        }
    for (tutti_value v = 1; v < graph_nvalues(f->from); v++) {
        const graph_value *x = graph_value_at(f->from, v);
        if (x->kind != VALUE_NODE)
            f->map[v] = graph_copy_leaf(f->from, v, graph_of(f->to));
        else if (graph_node_at(f->from, x->index)->out == v && !f->gone[x->index])
            copy_node(f, x->index);
    }
    graph_copy_assigns(f->from, graph_of(f->to), f->map);
}

tutti_status fuse_norms(const graph *from, const bool *wanted, graph *to, tutti_value *ret_map,
                        tutti_error *err)
{
    const uint32_t nvalues = graph_nvalues(from), nnodes = graph_nnodes(from);
    fuser f = {.from = from, .to = graph_builder(to), .wanted = wanted, .map = ret_map};
    uint64_t nfields = 1;
    for (uint32_t k = 0; k < nnodes; k++)
        nfields += graph_node_at(from, k)->op->nfields; /* more than any has */
    f.nreaders = calloc(nvalues, sizeof *f.nreaders);
    f.first = calloc(nvalues, sizeof *f.first);
    f.gone = calloc((size_t)nnodes + 1, sizeof *f.gone);
    f.attr = calloc(nfields, sizeof *f.attr);
    f.lists = calloc(nfields, sizeof *f.lists);
    memset(ret_map, 0, sizeof *ret_map * nvalues);
    tutti_status s = TUTTI_OK;
    if (!f.nreaders || !f.first || !f.gone || !f.attr || !f.lists)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
    if (!s) {
        copy_all(&f);
        s = graph_error(to, err);
    }
    free(f.nreaders);
    free(f.first);
    free(f.gone);
    free(f.attr);
    free(f.lists);
    return s;
}
