/* graph_emit.c - adding nodes: a common subexpression is one node, shapes are inferred, attributes checked. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/attr.h"
#include "graph/ir/constant_fold.h"
#include "graph/ir/graph_internal.h"
#include "graph/ir/precision.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static uint64_t node_hash(tutti_value guard, const tutti_op *op, const tutti_value *in,
                          uint32_t nin, const void *attr)
{
    uint64_t h = mix((uint64_t)guard << 32 | nin, (uint64_t)(uintptr_t)op);
    uint32_t k = 0;
    if (op->flags & TUTTI_OP_COMMUTATIVE && nin >= 2) {
        h = mix(h, (uint64_t)in[0] + in[1]);
        k = 2;
    }
    for (; k < nin; k++)
        h = mix(h, in[k]);
    const unsigned char *bytes = attr;
    for (uint32_t j = 0; j < op->attr_size; j++)
        h = mix(h, bytes[j]);
    return h;
}

static bool same_inputs(const graph_node *n, const tutti_value *in, uint32_t nin)
{
    uint32_t k = 0;
    if (n->nin != nin)
        return false;
    if (n->op->flags & TUTTI_OP_COMMUTATIVE && nin >= 2 && n->in[0] == in[1] &&
        n->in[1] == in[0])
        k = 2;
    for (; k < nin; k++)
        if (n->in[k] != in[k])
            return false;
    return true;
}

/* The bucket of an equal node, or the free one where it would go. */
static uint32_t *find_bucket(graph *g, uint64_t hash, tutti_value guard, const tutti_op *op,
                             const tutti_value *in, uint32_t nin, const void *attr)
{
    for (uint32_t k = (uint32_t)hash & (g->nbuckets - 1);; k = (k + 1) & (g->nbuckets - 1)) {
        if (!g->buckets[k])
            return &g->buckets[k];
        const graph_node *n = &g->nodes[g->buckets[k] - 1];
        if (n->op == op && n->guard == guard && same_inputs(n, in, nin) &&
            (!op->attr_size || memcmp(n->attr, attr, op->attr_size) == 0))
            return &g->buckets[k];
    }
}

static bool grow_buckets(graph *g)
{
    if (g->nhashed * 2 < g->nbuckets)
        return true;
    const uint32_t size = g->nbuckets * 2;
    uint32_t *old = g->buckets, *fresh = calloc(size, sizeof *fresh);
    if (!fresh)
        return false;
    const uint32_t nold = g->nbuckets;
    g->buckets = fresh;
    g->nbuckets = size;
    for (uint32_t k = 0; k < nold; k++) {
        if (!old[k])
            continue;
        const graph_node *n = &g->nodes[old[k] - 1];
        *find_bucket(g, node_hash(n->guard, n->op, n->in, n->nin, n->attr), n->guard, n->op,
                     n->in, n->nin, n->attr) = old[k];
    }
    free(old);
    return true;
}

static tutti_status check_inputs(graph *g, const tutti_op *op, const tutti_value *in,
                                 uint32_t nin, tutti_desc *desc, tutti_error *err)
{
    if (nin < op->nin_min || nin > op->nin_max || nin > TUTTI_OP_MAX_IN)
        return tutti_fail(err, TUTTI_E_ARG, "%s: %u inputs, want %u to %u", op->name, nin,
                          op->nin_min, op->nin_max);
    for (uint32_t k = 0; k < nin; k++) {
        if (in[k] == 0 || in[k] >= g->nvalues)
            return tutti_fail(err, TUTTI_E_ARG, "%s: input %u is no value", op->name, k);
        desc[k] = g->values[in[k]].desc;
    }
    return TUTTI_OK;
}

/* A plugin's operation may say anything of its results. */
static tutti_status check_results(const tutti_op *op, const tutti_desc *out, tutti_error *err)
{
    for (uint32_t k = 0; k < op->nout; k++) {
        tutti_error cause = TUTTI_ERROR_INIT;
        if (tutti_desc_check(&out[k], 0, &cause))
            return tutti_fail(err, cause.status, "%s: result %u: %s", op->name, k, cause.text);
    }
    return TUTTI_OK;
}

static tutti_value add_node(graph *g, const tutti_op *op, const tutti_value *in, uint32_t nin,
                            const void *attr, const tutti_desc *out)
{
    tutti_value *ins = pool_take(&g->memory, sizeof *ins * nin);
    if (!ins || !graph_reserve(&g->nodes, &g->node_capacity, g->nnodes, 1, sizeof *g->nodes) ||
        !graph_reserve(&g->values, &g->value_capacity, g->nvalues, op->nout,
                       sizeof *g->values)) {
        graph_out_of_memory(g);
        return 0;
    }
    if (nin)
        memcpy(ins, in, sizeof *ins * nin);
    const tutti_value first = g->nvalues;
    for (uint32_t k = 0; k < op->nout; k++)
        (void)graph_add_value(g, &out[k], VALUE_NODE, g->nnodes);
    g->nodes[g->nnodes++] =
        (graph_node){op, ins, attr, g->scope, nin, first, g->segment, g->guard, 0, 0};
    return first;
}

/* Writes outs[0..op->nout) and returns the first, or 0. */
static tutti_value emit_checked(graph *g, const tutti_op *op, const tutti_value *in,
                                uint32_t nin, const tutti_attr *attr, uint32_t nattr,
                                tutti_value *outs, tutti_error *err)
{
    tutti_desc descs[TUTTI_OP_MAX_IN], shapes[TUTTI_OP_MAX_OUT] = {{{0}, 0, 0}};
    void *blob = pool_take(&g->memory, op->attr_size);
    if (!blob || !grow_buckets(g)) {
        graph_out_of_memory(g);
        return 0;
    }
    if (check_inputs(g, op, in, nin, descs, err) || attr_decode(op, attr, nattr, blob, err))
        return 0;
    if (g->fast)
        (void)attr_raise(op, blob, "fast", g->fast);
    const bool parts = g->expand && op->decompose;
    const bool merge = !parts && g->passes >= GRAPH_MERGE && !(op->flags & TUTTI_OP_RNG);
    const uint64_t hash = node_hash(g->guard, op, in, nin, blob);
    uint32_t *bucket = merge ? find_bucket(g, hash, g->guard, op, in, nin, blob) : NULL;
    const tutti_op_call call = {sizeof call, nin,  op->nout, 1,    descs,
                                NULL,        blob, NULL,     NULL, NULL};
    tutti_value first = bucket && *bucket ? g->nodes[*bucket - 1].out : 0;
    tutti_status s = first ? TUTTI_OK : precision_infer(op, &call, &g->autocast, shapes, err);
    if (!s && !first)
        s = check_results(op, shapes, err);
    if (!s && parts) {
        const tutti_node node = {sizeof node, nin, op->nout, 0, in, outs, blob};
        s = op->decompose(&g->api, &node, outs);
        return s || g->error.status ? 0 : outs[0];
    }
    if (s) {
        tutti_fail(err, s, "%s: infer failed without a reason", op->name);
        return 0;
    }
    if (!first && g->passes >= GRAPH_FOLD && (first = constant_fold(g, op, &call, in, shapes)))
        bucket = NULL;
    else if (!first && (first = add_node(g, op, in, nin, blob, shapes)) && bucket) {
        *bucket = g->nnodes;
        g->nhashed++;
    }
    for (uint32_t k = 0; k < op->nout; k++)
        outs[k] = first + k;
    return first;
}

tutti_value graph_build_emit(tutti_graph *b, const char *name, const tutti_value *in,
                             uint32_t nin, const tutti_attr *attr, uint32_t nattr,
                             tutti_value *out, uint32_t nout)
{
    graph *g = graph_of(b);
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_value first = 0, outs[TUTTI_OP_MAX_OUT] = {0}, args[TUTTI_OP_MAX_IN];
    const tutti_op *op = g->error.status ? NULL : graph_op(g, name, &err);
    if (op && precision_cast_operands(g, op, &g->autocast, in, nin, args))
        in = args;
    if (op)
        first = emit_checked(g, op, in, nin, attr, nattr, outs, &err);
    if (first && nout > op->nout) {
        tutti_fail(&err, TUTTI_E_ARG, "%s: %u results wanted, it has %u", op->name, nout,
                   op->nout);
        first = 0;
    }
    if (!first && err.status)
        graph_fail_at(g, err.status, err.text);
    for (uint32_t k = 0; k < nout && out; k++)
        out[k] = first ? outs[k] : 0;
    return first;
}
