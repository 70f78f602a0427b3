/* rewrite.c - graph rewriting: a graph is copied into another, node by node or with some nodes become one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/rewrite.h"
#include "graph/ir/attr.h"
#include "graph/ir/precision.h"

#include <stdlib.h>
#include <string.h>

tutti_value rewrite_leaf(const graph *from, tutti_value v, graph *to)
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

void rewrite_assigns(const graph *from, graph *to, const tutti_value *map)
{
    tutti_graph *b = graph_builder(to);
    for (uint32_t k = 0; k < graph_nassigns(from); k++) {
        const graph_assign a = graph_assign_at(from, k);
        for (tutti_value v = 1; v < graph_nvalues(from); v++) {
            const graph_value *x = graph_value_at(from, v);
            if (x->kind == VALUE_WEIGHT && x->index == a.weight)
                b->assign(b, map[v], graph_cast(to, map[a.value], x->desc.dtype));
        }
    }
}

/* ---- nodes ---- */

rewrite_node rewrite_same(const graph_node *n)
{
    rewrite_node same = {
        .op = n->op->name, .place = n, .like = n, .nin = n->nin, .nout = n->op->nout};
    memcpy(same.in, n->in, sizeof *same.in * n->nin);
    for (uint32_t k = 0; k < n->op->nout; k++)
        same.out[k] = n->out + k;
    return same;
}

void rewrite_emit(graph *to, const rewrite_node *n, tutti_value *map)
{
    tutti_graph *b = graph_builder(to);
    tutti_value in[TUTTI_OP_MAX_IN], out[TUTTI_OP_MAX_OUT];
    tutti_attr attr[GRAPH_MAX_ATTR + 3];
    tutti_list lists[GRAPH_MAX_ATTR];
    uint32_t nattr = (uint32_t)n->like->op->nfields;
    graph_set_segment(to, n->place->segment);
    (void)graph_set_scope(to, n->place->scope);
    if (nattr > GRAPH_MAX_ATTR) {
        (void)b->fail(b, TUTTI_E_RANGE, "an operation has too many attributes");
        return;
    }
    for (uint32_t k = 0; k < n->nin; k++)
        in[k] = map[n->in[k]];
    attr_encode(n->like->op, n->like->attr, lists, attr);
    if (n->act)
        attr[nattr++] = tutti_attr_i("act", n->act);
    if (n->of)
        attr[nattr++] = tutti_attr_i("of", n->of);
    if (n->columns)
        attr[nattr++] = tutti_attr_i("columns", n->columns);
    (void)graph_set_guard(to, map[n->place->guard]);
    (void)b->emit(b, n->op, in, n->nin, attr, nattr, out, n->nout);
    (void)graph_set_guard(to, 0);
    for (uint32_t k = 0; k < n->nout; k++)
        map[n->out[k]] = out[k];
}

/* ---- graphs ---- */

const graph_node *rewrite_producer(const rewrite *r, tutti_value v)
{
    const graph_value *x = graph_value_at(r->from, v);
    return x->kind == VALUE_NODE ? graph_node_at(r->from, x->index) : NULL;
}

bool rewrite_read_once(const rewrite *r, tutti_value v)
{
    return r->nreaders[v] == 1 && !r->wanted[v];
}

bool rewrite_same_desc(const rewrite *r, tutti_value a, tutti_value b)
{
    const tutti_desc *x = &graph_value_at(r->from, a)->desc;
    const tutti_desc *y = &graph_value_at(r->from, b)->desc;
    return x->dtype == y->dtype && tutti_same_shape(x, y);
}

static void survey(const rewrite *r)
{
    for (tutti_value v = 0; v < graph_nvalues(r->from); v++)
        r->first[v] = REWRITE_NONE;
    for (uint32_t k = 0; k < graph_nnodes(r->from); k++) {
        const graph_node *n = graph_node_at(r->from, k);
        r->with[k] = REWRITE_NONE;
        r->nreaders[n->guard]++;
        for (uint32_t j = 0; j < n->nin; j++) {
            r->nreaders[n->in[j]]++;
            if (r->first[n->in[j]] == REWRITE_NONE)
                r->first[n->in[j]] = k;
        }
    }
}

/* What result `j` of `n` had; masks and integers are what they are inferred to be. */
static void keep_dtype(const rewrite *r, const rewrite_node *n, uint32_t j, graph *to,
                       tutti_value v)
{
    const bool other = j == 0 && n->dtype;
    if (graph_is_floating(graph_value_at(to, v)->desc.dtype))
        graph_set_dtype(to, v,
                        other ? n->dtype : graph_value_at(r->from, n->out[j])->desc.dtype);
}

static void emit_node(const rewrite *r, const rewrite_rule *rule, const rewrite_node *n,
                      graph *to, tutti_value *map)
{
    rewrite_emit(to, n, map);
    for (uint32_t j = 0; j < n->nout && rule->dtypes && map[n->out[j]]; j++)
        keep_dtype(r, n, j, to, map[n->out[j]]);
}

/* Value `v` and what it is made of, as far as they are not there, for a node at `place`.  Inputs keep their order. */
static void copy_early(const rewrite *r, const rewrite_rule *rule, tutti_value v,
                       const graph_node *place, graph *to, tutti_value *map)
{
    const graph_value *x = graph_value_at(r->from, v);
    if (map[v] || graph_error(to, NULL))
        return;
    if (x->kind != VALUE_NODE) {
        for (tutti_value before = 1; before < v && x->kind == VALUE_INPUT; before++)
            if (graph_value_at(r->from, before)->kind == VALUE_INPUT && !map[before])
                map[before] = rewrite_leaf(r->from, before, to);
        map[v] = rewrite_leaf(r->from, v, to);
        return;
    }
    graph_node n = *graph_node_at(r->from, x->index);
    for (uint32_t j = 0; j < n.nin; j++)
        copy_early(r, rule, n.in[j], place, to, map);
    n.segment = place->segment;
    const rewrite_node moved = rewrite_same(&n);
    emit_node(r, rule, &moved, to, map);
}

static void copy_node(const rewrite *r, const rewrite_rule *rule, uint32_t k, graph *to,
                      tutti_value *map)
{
    const bool joined = r->with[k] != REWRITE_NONE;
    const rewrite_node n = joined ? rule->join(r, k) : rewrite_same(graph_node_at(r->from, k));
    for (uint32_t j = 0; j < n.nin && joined && rule->early; j++)
        copy_early(r, rule, n.in[j], n.place, to, map);
    emit_node(r, rule, &n, to, map);
}

static void copy_all(const rewrite *r, const rewrite_rule *rule, graph *to, tutti_value *map)
{
    graph_set_passes(to, rule->passes);
    for (tutti_value v = 1; v < graph_nvalues(r->from); v++) {
        const graph_value *x = graph_value_at(r->from, v);
        if (map[v])
            continue; /* early */
        if (x->kind != VALUE_NODE)
            map[v] = rewrite_leaf(r->from, v, to);
        else if (graph_node_at(r->from, x->index)->out == v && !r->gone[x->index])
            copy_node(r, rule, x->index, to, map);
    }
    rewrite_assigns(r->from, to, map);
}

tutti_status rewrite_graph(const graph *from, const bool *wanted, const rewrite_rule *rule,
                           graph *to, tutti_value *ret_map, tutti_error *err)
{
    const uint32_t nvalues = graph_nvalues(from), nnodes = graph_nnodes(from);
    rewrite r = {.from = from, .wanted = wanted};
    tutti_status s = TUTTI_OK;
    r.nreaders = calloc(nvalues, sizeof *r.nreaders);
    r.first = calloc(nvalues, sizeof *r.first);
    r.with = calloc((size_t)nnodes + 1, sizeof *r.with);
    r.gone = calloc((size_t)nnodes + 1, sizeof *r.gone);
    r.marked = calloc(nvalues, sizeof *r.marked);
    memset(ret_map, 0, sizeof *ret_map * nvalues);
    if (!r.nreaders || !r.first || !r.with || !r.gone || !r.marked)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
    if (!s) {
        survey(&r);
        rule->find(&r);
        copy_all(&r, rule, to, ret_map);
        s = graph_error(to, err);
    }
    free(r.nreaders);
    free(r.first);
    free(r.with);
    free(r.gone);
    free(r.marked);
    return s;
}
