/* pointwise_fusion.c - pointwise fusion: elementwise nodes that run as one kernel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/pointwise_fusion.h"
#include "graph/ir/precision.h"
#include "graph/ir/traits.h"
#include "tutti/pointwise_group.h"

#include <stdlib.h>
#include <string.h>

#define ALONE UINT32_MAX

typedef struct finder {
    const graph *g;
    const bool *live;
    const bool *wanted;
    uint32_t *group; /* by node: the group it is in, or ALONE */
    uint32_t
        *first_use;    /* by value: where its readers begin in `readers`; one more at the end */
    uint32_t *readers; /* live nodes */
    uint32_t nnodes;
} finder;

static const graph_value *result(const graph *g, const graph_node *n)
{
    return graph_value_at(g, n->out);
}

/* The weight that `v` is, or looks at; NULL when it is none. */
static const graph_value *weight_behind(const graph *g, tutti_value v)
{
    const graph_value *x = graph_value_at(g, v);
    while (x->kind == VALUE_NODE && graph_node_at(g, x->index)->op->flags & TUTTI_OP_VIEW)
        x = graph_value_at(g, graph_node_at(g, x->index)->in[0]);
    return x->kind == VALUE_WEIGHT ? x : NULL;
}

static bool is_f32_or_half(int32_t dtype)
{
    return dtype == TUTTI_F32 || dtype_is_half(dtype);
}

/* One result, and inputs that are as many numbers or one. */
bool pointwise_is_fusable(const graph *g, const graph_node *n)
{
    const tutti_op *op = n->op;
    const tutti_desc *y = &result(g, n)->desc;
    if (!(op->flags & TUTTI_OP_ELEMENTWISE) || op->flags & (TUTTI_OP_RNG | TUTTI_OP_VIEW) ||
        traits_of(op)->pointwise == TUTTI_POINTWISE_NONE || op->nout != 1 || !op->cpu ||
        op->cpu->prepare || !is_f32_or_half(y->dtype))
        return false;
    for (uint32_t j = 0; j < n->nin; j++) {
        const graph_value *x = graph_value_at(g, n->in[j]);
        const int64_t size = tutti_numel(&x->desc);
        const graph_value *weight = weight_behind(g, n->in[j]);
        /* A buffer may be assigned before the group's end. */
        if (!is_f32_or_half(x->desc.dtype) || (size != 1 && size != tutti_numel(y)) ||
            (weight && !weight->trainable))
            return false;
    }
    return true;
}

tutti_status pointwise_check_known(const pointwise_device *device, const graph_node *n,
                                   tutti_error *err)
{
    const tutti_pointwise_op link = {.op = n->op, .attr = n->attr};
    const tutti_pointwise_group one = {sizeof one, 1, &link};
    const tutti_op_call call = {.struct_size = sizeof call, .attr = &one, .cuda = device->cuda};
    return device->op->infer(&call, NULL, err);
}

/* A node reads its inputs, then its guard. */
static uint32_t nreads(const graph_node *n)
{
    return n->nin + (n->guard != 0);
}

static tutti_value read_at(const graph_node *n, uint32_t k)
{
    return k < n->nin ? n->in[k] : n->guard;
}

static tutti_status list_readers(finder *f, tutti_error *err)
{
    const uint32_t nvalues = graph_nvalues(f->g);
    size_t total = 1;
    for (uint32_t k = 0; k < f->nnodes; k++)
        total += graph_node_at(f->g, k)->nin + 1;
    f->first_use = calloc((size_t)nvalues + 2, sizeof *f->first_use);
    f->readers = calloc(total, sizeof *f->readers);
    f->group = calloc((size_t)f->nnodes + 1, sizeof *f->group);
    if (!f->first_use || !f->readers || !f->group)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
    /* Counting sort: [v + 2] counts, then becomes where v + 1 is filled next. */
    for (uint32_t k = 0; k < f->nnodes; k++)
        for (uint32_t j = 0; f->live[k] && j < nreads(graph_node_at(f->g, k)); j++)
            f->first_use[read_at(graph_node_at(f->g, k), j) + 2]++;
    for (uint32_t v = 2; v < nvalues + 2; v++)
        f->first_use[v] += f->first_use[v - 1];
    for (uint32_t k = 0; k < f->nnodes; k++)
        for (uint32_t j = 0; f->live[k] && j < nreads(graph_node_at(f->g, k)); j++)
            f->readers[f->first_use[read_at(graph_node_at(f->g, k), j) + 1]++] = k;
    return TUTTI_OK;
}

static bool is_member(const finder *f, uint32_t node, const uint32_t *groups, uint32_t ngroups,
                      uint32_t end)
{
    for (uint32_t k = 0; k < ngroups; k++)
        if (f->group[node] == groups[k])
            return true;
    return node == end;
}

/* Adds what node `k` brings: an output when others read its result, inputs that are new. */
static bool count_member(const finder *f, uint32_t k, const uint32_t *groups, uint32_t ngroups,
                         uint32_t end, uint32_t *nout, tutti_value *in, uint32_t *nin)
{
    const graph_node *n = graph_node_at(f->g, k);
    bool outside = f->wanted[n->out];
    for (uint32_t r = f->first_use[n->out]; r < f->first_use[n->out + 1]; r++) {
        if (is_member(f, f->readers[r], groups, ngroups, end))
            continue;
        if (f->readers[r] < end)
            return false;
        outside = true;
    }
    *nout += outside;
    for (uint32_t j = 0; j < n->nin; j++) {
        const graph_value *x = graph_value_at(f->g, n->in[j]);
        bool known = x->kind == VALUE_NODE && is_member(f, x->index, groups, ngroups, end);
        for (uint32_t i = 0; i < *nin && !known; i++)
            known = in[i] == n->in[j];
        if (!known && *nin == POINTWISE_MAX_IN)
            return false;
        if (!known)
            in[(*nin)++] = n->in[j];
    }
    return *nout <= POINTWISE_MAX_OUT;
}

/* May these groups and node `end` run together at `end`? */
static bool fit_together(const finder *f, const uint32_t *groups, uint32_t ngroups,
                         uint32_t end)
{
    tutti_value in[POINTWISE_MAX_IN];
    uint32_t nin = 0, nout = 0, members = 0;
    const graph_node *last = graph_node_at(f->g, end);
    for (uint32_t k = 0; k <= end; k++) {
        if (!is_member(f, k, groups, ngroups, end))
            continue;
        const graph_node *n = graph_node_at(f->g, k);
        if (++members > POINTWISE_MAX_OPS || n->segment != last->segment ||
            n->guard != last->guard ||
            tutti_numel(&result(f->g, n)->desc) != tutti_numel(&result(f->g, last)->desc) ||
            !count_member(f, k, groups, ngroups, end, &nout, in, &nin))
            return false;
    }
    return true;
}

static void join(finder *f, uint32_t k)
{
    const graph_node *n = graph_node_at(f->g, k);
    uint32_t groups[TUTTI_OP_MAX_IN], ngroups = 0;
    f->group[k] = k;
    for (uint32_t j = 0; j < n->nin; j++) {
        const graph_value *x = graph_value_at(f->g, n->in[j]);
        if (x->kind != VALUE_NODE || f->group[x->index] == ALONE)
            continue;
        groups[ngroups] = f->group[x->index];
        if (is_member(f, x->index, groups, ngroups, k) ||
            fit_together(f, groups, ngroups + 1, k))
            ngroups += !is_member(f, x->index, groups, ngroups, k);
    }
    for (uint32_t i = 0; i < k && ngroups; i++)
        if (is_member(f, i, groups, ngroups, k))
            f->group[i] = k;
}

/* Nodes that may be in groups join them in their order. */
static tutti_status join_all(finder *f, const pointwise_device *device, tutti_error *err)
{
    for (uint32_t k = 0; k < f->nnodes; k++) {
        const graph_node *n = graph_node_at(f->g, k);
        if (!f->live[k] || n->group || !pointwise_is_fusable(f->g, n))
            continue;
        tutti_error why = TUTTI_ERROR_INIT;
        const tutti_status s = device ? pointwise_check_known(device, n, &why) : TUTTI_OK;
        if (s == TUTTI_E_NOMEM)
            return tutti_fail(err, s, "%s", why.text);
        if (!s)
            join(f, k);
    }
    return TUTTI_OK;
}

tutti_status pointwise_fusion_find(const graph *g, const bool *live, const bool *wanted,
                                   const pointwise_device *device, uint32_t *ret_end,
                                   tutti_error *err)
{
    finder f = {.g = g, .live = live, .wanted = wanted, .nnodes = graph_nnodes(g)};
    tutti_status s = list_readers(&f, err);
    for (uint32_t k = 0; k < f.nnodes && !s; k++)
        f.group[k] = ALONE;
    s = s ? s : join_all(&f, device, err);
    for (uint32_t k = 0; k < f.nnodes && !s; k++)
        ret_end[k] = f.group[k] == ALONE ? k : f.group[k];
    free(f.first_use);
    free(f.readers);
    free(f.group);
    return s;
}
