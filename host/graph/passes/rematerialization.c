/* rematerialization.c - rematerialisation (rematerialise, recompute): second nodes for results that the backward pass reads. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/rematerialization.h"
#include "graph/ir/attr.h"
#include "graph/ir/graph_internal.h"
#include "graph/ir/traits.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
enum {
    MAX_DEPTH = 4,          /* of what a group computes */
    LEAST_BYTES = 16 << 10, /* smaller results are not worth a call */
};

typedef struct offer {
    graph *g;
    tutti_value *root; /* by value: what it is a view of */
    uint32_t *first;   /* by root: its first reader in segment 1, or NONE */
    uint32_t *last;    /* by root: its last one */
    bool *fixed;       /* by root: it may change between the segments, or leaves the graph */
    tutti_value *made; /* by value: what this group has instead, or 0 */
    uint32_t *places;  /* of second nodes: the node before which each goes */
    uint32_t places_capacity;
    uint32_t nvalues, nnodes; /* at first */
    uint32_t ngroups;
    uint32_t at; /* this group's first reader */
    bool host;   /* whose kernels run */
} offer;

static const graph_node *maker(const offer *o, tutti_value v)
{
    const graph_value *x = graph_value_at(o->g, v);
    return x->kind == VALUE_NODE ? graph_node_at(o->g, x->index) : NULL;
}

static bool is_view(const graph_node *n)
{
    return n->op->flags & TUTTI_OP_VIEW;
}

static uint64_t bytes_of(const offer *o, tutti_value v)
{
    return tutti_nbytes(&graph_value_at(o->g, v)->desc);
}

/* ---- what is there ---- */

static void survey(offer *o, const tutti_value *kept, uint32_t nkept)
{
    const graph *g = o->g;
    for (tutti_value v = 0; v < o->nvalues; v++) {
        o->root[v] = v;
        o->first[v] = NONE;
    }
    for (uint32_t k = 0; k < o->nnodes; k++) {
        const graph_node *n = graph_node_at(g, k);
        if (is_view(n))
            o->root[n->out] = o->root[n->in[0]];
        for (uint32_t j = 0; j < n->nin && n->segment && !is_view(n); j++) {
            const tutti_value r = o->root[n->in[j]];
            o->first[r] = o->first[r] == NONE ? k : o->first[r];
            o->last[r] = k;
        }
    }
    for (uint32_t k = 0; k < nkept; k++)
        o->fixed[o->root[kept[k]]] = true;
    for (uint32_t k = 0; k < graph_nassigns(g); k++)
        o->fixed[o->root[graph_assign_at(g, k).value]] = true;
    for (tutti_value v = 1; v < o->nvalues; v++) { /* others may write these meanwhile */
        const graph_value *x = graph_value_at(g, v);
        o->fixed[v] =
            o->fixed[v] || x->kind == VALUE_INPUT || (x->kind == VALUE_WEIGHT && !x->trainable);
    }
}

/* What rematerializes the first result of `n`. */
static tutti_substitute substitute_of(const graph_node *n)
{
    tutti_value out[TUTTI_OP_MAX_OUT];
    tutti_substitute s = {.op = n->op->name, .nin = n->nin};
    memcpy(s.in, n->in, sizeof *s.in * n->nin);
    for (uint32_t k = 0; k < n->op->nout; k++)
        out[k] = n->out + k;
    const tutti_node node = {sizeof node, n->nin, n->op->nout, 0, n->in, out, n->attr};
    if (traits_of(n->op)->substitute)
        traits_of(n->op)->substitute(&node, &s);
    return s;
}

/* Whether `v` is the first result of `n`, or repeats it in 16 bits: an operation that stands for another one and the cast behind
 * that is substituted by that. */
static bool is_first(const offer *o, const graph_node *n, tutti_value v)
{
    const tutti_op *op = NULL;
    if (v != n->out && v == n->out + n->op->nout - 1 && traits_of(n->op)->substitute)
        op = graph_op(o->g, substitute_of(n).op, NULL);
    const char *both = op ? traits_fusion(op, TUTTI_FUSE_CAST) : NULL;
    return v == n->out || (both && strcmp(both, n->op->name) == 0);
}

static bool is_cheap(const offer *o, const graph_node *n)
{
    const tutti_op_traits *t = traits_of(n->op);
    bool f32 = o->host;
    if (n->segment || n->guard || is_view(n) || !n->nin)
        return false;
    if (graph_value_at(o->g, o->root[n->in[0]])->kind == VALUE_WEIGHT) /* kept over many runs */
        return false;
    for (uint32_t k = 0; k < n->op->nout; k++)
        f32 = f32 && graph_value_at(o->g, n->out + k)->desc.dtype == TUTTI_F32;
    switch (t->rematerialize) {
    case TUTTI_REMATERIALIZE_NEVER:
        return false;
    case TUTTI_REMATERIALIZE_SAME:
        return true;
    case TUTTI_REMATERIALIZE_BY:
    case TUTTI_REMATERIALIZE_BY_F32:
        return t->substitute && (f32 || t->rematerialize == TUTTI_REMATERIALIZE_BY) &&
               graph_op(o->g, substitute_of(n).op, NULL);
    default:
        return n->op->flags & TUTTI_OP_ELEMENTWISE;
    }
}

/* Is `v` there at the group's first reader, or so small that it does not matter? */
static bool is_there(const offer *o, tutti_value v, uint64_t bytes)
{
    const tutti_value r = o->root[v];
    const graph_node *n = maker(o, r);
    return !n || (o->first[r] != NONE && o->last[r] >= o->at) || bytes_of(o, r) <= bytes / 4;
}

/* Can node `n` be computed at the group's first reader, from what is kept anyway? */
static bool is_possible(const offer *o, const graph_node *n, uint64_t bytes, int depth)
{
    if (!is_cheap(o, n) || depth == MAX_DEPTH)
        return false;
    const tutti_substitute s = substitute_of(n);
    for (uint32_t j = 0; j < s.nin; j++) {
        const tutti_value r = o->root[s.in[j]];
        const graph_node *from = maker(o, r);
        if (o->fixed[r] || (from && from->segment))
            return false;
        if (!is_there(o, r, bytes) &&
            (!is_first(o, from, r) || !is_possible(o, from, bytes, depth + 1)))
            return false;
    }
    return true;
}

/* ---- the second nodes ---- */

/* Emits `s` for `n`; notes it as `v`, rematerialized.  Without attributes of its own it has those of `n`. */
static tutti_value emit_rematerialized(offer *o, const graph_node *n, tutti_value v,
                                       const tutti_substitute *s)
{
    graph *g = o->g;
    tutti_graph *b = graph_builder(g);
    tutti_attr attr[GRAPH_MAX_ATTR];
    tutti_list lists[GRAPH_MAX_ATTR];
    const graph_node from = *n; /* emitting moves the array */
    const bool own = s->nattr || strcmp(s->op, n->op->name) != 0;
    if (from.op->nfields > GRAPH_MAX_ATTR ||
        !graph_reserve(&o->places, &o->places_capacity, graph_nnodes(g) - o->nnodes, 1,
                       sizeof *o->places)) {
        (void)graph_out_of_memory(g);
        return 0;
    }
    o->places[graph_nnodes(g) - o->nnodes] = o->at;
    attr_encode(from.op, from.attr, lists, attr);
    (void)graph_set_scope(g, from.scope);
    const tutti_value out = b->emit(b, s->op, s->in, s->nin, own ? s->attr : attr,
                                    own ? s->nattr : (uint32_t)from.op->nfields, NULL, 0);
    if (!out)
        return 0;
    if ((!own && !is_view(&from)) || v != from.out) /* it may be stored in 16 bits at once */
        graph_set_dtype(g, out, graph_value_at(g, v)->desc.dtype);
    g->nodes[g->nnodes - 1].recomputes = v;
    g->nodes[g->nnodes - 1].group = o->ngroups;
    return o->made[v] = out;
}

/* `v` as the group's nodes read it: rematerialized, a view of what is, or itself. */
static tutti_value rematerialized_value(offer *o, tutti_value v, uint64_t bytes, int depth)
{
    const graph_node *n = maker(o, v);
    if (o->made[v] || !n)
        return o->made[v] ? o->made[v] : v;
    const graph_node node = *n;
    if (is_view(&node)) {
        tutti_substitute view = {.op = node.op->name, .nin = 1};
        view.in[0] = rematerialized_value(o, node.in[0], bytes, depth);
        return view.in[0] == node.in[0] ? v : emit_rematerialized(o, &node, v, &view);
    }
    if (depth && is_there(o, v, bytes))
        return v;
    tutti_substitute s = substitute_of(&node);
    for (uint32_t j = 0; j < s.nin; j++)
        s.in[j] = rematerialized_value(o, s.in[j], bytes, depth + 1);
    return emit_rematerialized(o, &node, v, &s);
}

/* Readers of `r` in segment 1 get the group's instead. */
static void redirect_readers(offer *o, tutti_value r, uint64_t bytes)
{
    graph *g = o->g;
    for (uint32_t k = o->first[r]; k <= o->last[r]; k++) {
        const graph_node *n = graph_node_at(g, k);
        tutti_value in[TUTTI_OP_MAX_IN];
        bool reads = false;
        for (uint32_t j = 0; j < n->nin && !is_view(n); j++) {
            in[j] = n->in[j];
            reads = reads || (in[j] < o->nvalues && o->root[in[j]] == r);
        }
        if (!reads)
            continue;
        const uint32_t nin = n->nin;
        for (uint32_t j = 0; j < nin; j++)
            if (in[j] < o->nvalues && o->root[in[j]] == r)
                in[j] = rematerialized_value(o, in[j], bytes, 0);
        tutti_value *own = pool_take(&g->memory, sizeof *own * nin);
        if (!own) {
            (void)graph_out_of_memory(g);
            return;
        }
        memcpy(own, in, sizeof *own * nin);
        g->nodes[k].in = own;
    }
}

/* For the readers of `r`, which is the first result of node `k` or repeats it. */
static void offer_group(offer *o, uint32_t k, tutti_value r)
{
    const graph_node *n = graph_node_at(o->g, k);
    const uint64_t bytes = bytes_of(o, r);
    o->at = o->first[r];
    if (o->at == NONE || bytes < LEAST_BYTES || o->fixed[r] || !is_possible(o, n, bytes, 0))
        return;
    o->ngroups++;
    memset(o->made, 0, sizeof *o->made * o->nvalues);
    redirect_readers(o, r, bytes);
}

static void offer_results(offer *o, uint32_t k)
{
    const tutti_value first = graph_node_at(o->g, k)->out;
    const tutti_value last = first + graph_node_at(o->g, k)->op->nout - 1;
    offer_group(o, k, first);
    if (last != first && is_first(o, graph_node_at(o->g, k), last))
        offer_group(o, k, last);
}

/* Each second node goes before the node that it is for. */
static tutti_status put_in_place(offer *o, tutti_error *err)
{
    graph *g = o->g;
    graph_node *nodes = calloc((size_t)g->nnodes + 1, sizeof *nodes);
    uint32_t count = 0;
    if (!nodes)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
    for (uint32_t k = 0; k < o->nnodes; k++) {
        for (uint32_t j = o->nnodes; j < g->nnodes && g->nodes[k].segment; j++)
            if (o->places[j - o->nnodes] == k)
                nodes[count++] = g->nodes[j];
        nodes[count++] = g->nodes[k];
    }
    memcpy(g->nodes, nodes, sizeof *nodes * count);
    free(nodes);
    for (uint32_t k = 0; k < g->nnodes; k++)
        for (uint32_t j = 0; j < g->nodes[k].op->nout; j++)
            g->values[g->nodes[k].out + j].index = k;
    return TUTTI_OK;
}

tutti_status rematerialization_offer(graph *g, const tutti_value *kept, uint32_t nkept,
                                     bool host, tutti_error *err)
{
    offer o = {.g = g, .host = host, .nvalues = graph_nvalues(g), .nnodes = graph_nnodes(g)};
    o.root = calloc(o.nvalues, sizeof *o.root);
    o.first = calloc(o.nvalues, sizeof *o.first);
    o.last = calloc(o.nvalues, sizeof *o.last);
    o.fixed = calloc(o.nvalues, sizeof *o.fixed);
    o.made = calloc(o.nvalues, sizeof *o.made);
    tutti_status s = TUTTI_OK;
    if (!o.root || !o.first || !o.last || !o.fixed || !o.made)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
    if (!s) {
        survey(&o, kept, nkept);
        graph_set_passes(g, GRAPH_PLAIN);
        graph_set_autocast(g, &(graph_autocast){TUTTI_DTYPE_NONE, false});
        graph_set_segment(g, 1);
        (void)graph_set_guard(g, 0);
        for (uint32_t k = 0; k < o.nnodes && !g->error.status; k++)
            offer_results(&o, k);
        s = graph_error(g, err);
    }
    if (!s)
        s = put_in_place(&o, err);
    free(o.root);
    free(o.first);
    free(o.last);
    free(o.fixed);
    free(o.made);
    free(o.places);
    return s;
}
