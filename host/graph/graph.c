/* graph.c - the SSA graph and the builder that emits into it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph.h"
#include "graph/attr.h"
#include "graph/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct graph {
    tutti_graph api; /* first, so that the builder's pointer is the graph's */
    const tutti_op *const *ops;
    graph_hooks hooks;
    pool memory;
    graph_value *values;
    graph_node *nodes;
    graph_assign *assigns;
    uint32_t *buckets; /* of node number + 1, by hash; a power of two, at most half full */
    const char *scope;
    uint32_t nvalues, value_room;
    uint32_t nnodes, node_room;
    uint32_t nassigns, assign_room;
    uint32_t nbuckets, nhashed;
    uint32_t ninputs;
    int32_t segment;
    bool expand; /* operations that decompose are emitted as what they are made of */
    tutti_error error;
};

tutti_graph *graph_builder(graph *g)
{
    return &g->api;
}

static tutti_status out_of_memory(graph *g)
{
    return tutti_fail(&g->error, TUTTI_E_NOMEM, "no memory for the graph");
}

/* Makes room for `more` entries; false when memory is out. */
static bool reserve(void *array, uint32_t *room, uint32_t used, uint32_t more, size_t size)
{
    if (used + more <= *room)
        return true;
    uint32_t next = *room ? *room * 2 : 64;
    while (next < used + more)
        next *= 2;
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = realloc(old, next * size);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    *room = next;
    return true;
}

static tutti_value add_value(graph *g, const tutti_desc *desc, int32_t kind, uint32_t index)
{
    if (!reserve(&g->values, &g->value_room, g->nvalues, 1, sizeof *g->values)) {
        out_of_memory(g);
        return 0;
    }
    g->values[g->nvalues] = (graph_value){*desc, kind, index, NULL, 0, 0};
    return g->nvalues++;
}

tutti_value graph_input(graph *g, const tutti_desc *desc)
{
    return g->error.status ? 0 : add_value(g, desc, VALUE_INPUT, g->ninputs++);
}

tutti_value graph_weight(graph *g, uint32_t id, const tutti_desc *desc, bool trainable)
{
    const tutti_value v = g->error.status ? 0 : add_value(g, desc, VALUE_WEIGHT, id);
    if (v)
        g->values[v].trainable = trainable;
    return v;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static uint64_t node_hash(const tutti_op *op, const tutti_value *in, uint32_t nin,
                          const void *attr)
{
    uint64_t h = mix(nin, (uint64_t)(uintptr_t)op);
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
static uint32_t *find_bucket(graph *g, uint64_t hash, const tutti_op *op, const tutti_value *in,
                             uint32_t nin, const void *attr)
{
    for (uint32_t k = (uint32_t)hash & (g->nbuckets - 1);; k = (k + 1) & (g->nbuckets - 1)) {
        if (!g->buckets[k])
            return &g->buckets[k];
        const graph_node *n = &g->nodes[g->buckets[k] - 1];
        if (n->op == op && same_inputs(n, in, nin) &&
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
        *find_bucket(g, node_hash(n->op, n->in, n->nin, n->attr), n->op, n->in, n->nin,
                     n->attr) = old[k];
    }
    free(old);
    return true;
}

static tutti_status fail_at(graph *g, tutti_status status, const char *text)
{
    return *g->scope ? tutti_fail(&g->error, status, "%s: %s", g->scope, text)
                     : tutti_fail(&g->error, status, "%s", text);
}

static tutti_status build_fail(tutti_graph *b, tutti_status status, const char *text)
{
    return fail_at(graph_of(b), status, text);
}

static tutti_status build_status(const tutti_graph *b)
{
    const graph *g = b->ctx;
    return g->error.status;
}

static const tutti_desc *build_desc(tutti_graph *b, tutti_value v)
{
    const graph *g = graph_of(b);
    return &g->values[v < g->nvalues ? v : 0].desc;
}

static const tutti_op *find_op(const graph *g, const char *name)
{
    for (const tutti_op *const *op = g->ops; *op; op++)
        if (strcmp((*op)->name, name) == 0)
            return *op;
    return NULL;
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

static tutti_value add_node(graph *g, const tutti_op *op, const tutti_value *in, uint32_t nin,
                            const void *attr, const tutti_desc *out)
{
    tutti_value *ins = pool_take(&g->memory, sizeof *ins * nin);
    if (!ins || !reserve(&g->nodes, &g->node_room, g->nnodes, 1, sizeof *g->nodes) ||
        !reserve(&g->values, &g->value_room, g->nvalues, op->nout, sizeof *g->values)) {
        out_of_memory(g);
        return 0;
    }
    if (nin)
        memcpy(ins, in, sizeof *ins * nin);
    const tutti_value first = g->nvalues;
    for (uint32_t k = 0; k < op->nout; k++)
        (void)add_value(g, &out[k], VALUE_NODE, g->nnodes);
    g->nodes[g->nnodes++] = (graph_node){op, ins, attr, g->scope, nin, first, g->segment, 0};
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
        out_of_memory(g);
        return 0;
    }
    if (check_inputs(g, op, in, nin, descs, err) || attr_decode(op, attr, nattr, blob, err))
        return 0;
    const bool parts = g->expand && op->decompose;
    const bool merge = !parts && !(op->flags & TUTTI_OP_RNG);
    const uint64_t hash = node_hash(op, in, nin, blob);
    uint32_t *bucket = merge ? find_bucket(g, hash, op, in, nin, blob) : NULL;
    const tutti_op_call call = {sizeof call, nin, op->nout, 1, descs, NULL, blob, NULL};
    tutti_value first = bucket && *bucket ? g->nodes[*bucket - 1].out : 0;
    tutti_status s = first ? TUTTI_OK : op->infer(&call, shapes, err);
    if (!s && parts) {
        const tutti_node node = {sizeof node, nin, op->nout, 0, in, outs, blob};
        s = op->decompose(&g->api, &node, outs);
        return s || g->error.status ? 0 : outs[0];
    }
    if (s) {
        tutti_fail(err, s, "%s: infer failed without a reason", op->name);
        return 0;
    }
    if (!first && (first = add_node(g, op, in, nin, blob, shapes)) && bucket) {
        *bucket = g->nnodes;
        g->nhashed++;
    }
    for (uint32_t k = 0; k < op->nout; k++)
        outs[k] = first + k;
    return first;
}

static tutti_value build_emit(tutti_graph *b, const char *name, const tutti_value *in,
                              uint32_t nin, const tutti_attr *attr, uint32_t nattr,
                              tutti_value *out, uint32_t nout)
{
    graph *g = graph_of(b);
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_value first = 0, outs[TUTTI_OP_MAX_OUT] = {0};
    const tutti_op *op = g->error.status ? NULL : find_op(g, name);
    if (op)
        first = emit_checked(g, op, in, nin, attr, nattr, outs, &err);
    else
        tutti_fail(&err, TUTTI_E_NOTFOUND, "there is no operation \"%s\"", name);
    if (first && nout > op->nout) {
        tutti_fail(&err, TUTTI_E_ARG, "%s: %u results wanted, it has %u", op->name, nout,
                   op->nout);
        first = 0;
    }
    if (!first && err.status)
        fail_at(g, err.status, err.text);
    for (uint32_t k = 0; k < nout && out; k++)
        out[k] = first ? outs[k] : 0;
    return first;
}

static tutti_value build_constant(tutti_graph *b, const tutti_tensor *t)
{
    graph *g = graph_of(b);
    if (g->error.status)
        return 0;
    const uint64_t bytes = tutti_nbytes(&t->desc);
    for (tutti_value v = 1; v < g->nvalues; v++)
        if (g->values[v].kind == VALUE_CONST &&
            memcmp(&g->values[v].desc, &t->desc, sizeof t->desc) == 0 &&
            (!bytes || memcmp(g->values[v].data, t->data, bytes) == 0))
            return v;
    void *data = pool_take(&g->memory, bytes);
    const tutti_value v = data ? add_value(g, &t->desc, VALUE_CONST, 0) : 0;
    if (!v) {
        out_of_memory(g);
        return 0;
    }
    if (bytes)
        memcpy(data, t->data, bytes);
    g->values[v].data = data;
    return v;
}

/* What a reader of weight `id` sees now: the last assigned value, or the weight itself. */
static tutti_value current_value(const graph *g, uint32_t id)
{
    for (uint32_t k = g->nassigns; k-- > 0;)
        if (g->assigns[k].weight == id)
            return g->assigns[k].value;
    for (tutti_value v = 1; v < g->nvalues; v++)
        if (g->values[v].kind == VALUE_WEIGHT && g->values[v].index == id)
            return v;
    return 0;
}

static tutti_value build_weight(tutti_graph *b, tutti_module m, const char *name)
{
    graph *g = graph_of(b);
    uint32_t id = 0;
    tutti_desc desc;
    bool trainable = false;
    if (g->error.status)
        return 0;
    if (!g->hooks.weight) {
        fail_at(g, TUTTI_E_STATE, "this graph has no module tree");
        return 0;
    }
    if (g->hooks.weight(g->hooks.ctx, g, m, name, &id, &desc, &trainable))
        return 0;
    const tutti_value v = current_value(g, id);
    return v ? v : graph_weight(g, id, &desc, trainable);
}

/* The weight that `target` stands for, directly or as the value last assigned to it. */
static bool weight_behind(const graph *g, tutti_value target, uint32_t *ret_id)
{
    if (target && target < g->nvalues && g->values[target].kind == VALUE_WEIGHT) {
        *ret_id = g->values[target].index;
        return true;
    }
    for (uint32_t k = g->nassigns; k-- > 0 && target;)
        if (g->assigns[k].value == target) {
            *ret_id = g->assigns[k].weight;
            return true;
        }
    return false;
}

static void build_assign(tutti_graph *b, tutti_value target, tutti_value v)
{
    graph *g = graph_of(b);
    uint32_t id = 0;
    char want[96], got[96];
    tutti_error err = TUTTI_ERROR_INIT;
    if (g->error.status)
        return;
    if (!weight_behind(g, target, &id) || v == 0 || v >= g->nvalues) {
        fail_at(g, TUTTI_E_ARG, "assign: the target is no buffer, or there is no value");
        return;
    }
    if (g->values[target].trainable) {
        fail_at(g, TUTTI_E_ARG, "assign: the target is a trainable weight, want a buffer");
        return;
    }
    const tutti_desc *a = &g->values[target].desc, *c = &g->values[v].desc;
    if (!tutti_same_shape(a, c) || a->dtype != c->dtype) {
        tutti_fail(&err, TUTTI_E_SHAPE, "assign: the value is %s, the buffer %s",
                   tutti_desc_text(c, got, sizeof got), tutti_desc_text(a, want, sizeof want));
        fail_at(g, err.status, err.text);
        return;
    }
    if (!reserve(&g->assigns, &g->assign_room, g->nassigns, 1, sizeof *g->assigns))
        out_of_memory(g);
    else
        g->assigns[g->nassigns++] = (graph_assign){id, v};
}

static tutti_status build_call(tutti_graph *b, tutti_module m, const tutti_value *in,
                               uint32_t nin, tutti_value *out, uint32_t nout)
{
    graph *g = graph_of(b);
    tutti_value args[TUTTI_OP_MAX_IN]; /* `out` may be the memory of `in` */
    if (!g->error.status && !g->hooks.call)
        fail_at(g, TUTTI_E_STATE, "this graph has no module tree");
    if (!g->error.status && nin > TUTTI_OP_MAX_IN)
        fail_at(g, TUTTI_E_ARG, "call: too many inputs");
    for (uint32_t k = 0; k < nin && !g->error.status; k++)
        args[k] = in[k];
    for (uint32_t k = 0; k < nout; k++)
        out[k] = 0;
    return g->error.status ? g->error.status
                           : g->hooks.call(g->hooks.ctx, g, m, args, nin, out, nout);
}

graph *graph_create(const tutti_op *const *ops, int32_t mode, const graph_hooks *hooks)
{
    graph *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->api = (tutti_graph){
        sizeof g->api,  mode,         g,          build_emit, build_desc,  build_weight,
        build_constant, build_assign, build_call, build_fail, build_status};
    g->ops = ops;
    g->scope = "";
    g->error.struct_size = sizeof g->error;
    if (hooks)
        g->hooks = *hooks;
    g->nbuckets = 256;
    g->buckets = calloc(g->nbuckets, sizeof *g->buckets);
    const tutti_desc none = {{0}, 0, TUTTI_DTYPE_NONE};
    if (g->buckets)
        (void)add_value(g, &none, VALUE_CONST, 0);
    if (!g->buckets || g->error.status) {
        graph_destroy(g);
        return NULL;
    }
    return g;
}

void graph_destroy(graph *g)
{
    if (!g)
        return;
    pool_free(&g->memory);
    free(g->values);
    free(g->nodes);
    free(g->assigns);
    free(g->buckets);
    free(g);
}

void graph_set_expand(graph *g, bool expand)
{
    g->expand = expand;
}

void graph_set_segment(graph *g, int32_t segment)
{
    g->segment = segment;
}

const char *graph_set_scope(graph *g, const char *path)
{
    const char *before = g->scope;
    const size_t size = strlen(path) + 1;
    char *copy = pool_take(&g->memory, size);
    if (!copy) {
        out_of_memory(g);
        return before;
    }
    memcpy(copy, path, size);
    g->scope = copy;
    return before;
}

tutti_status graph_error(const graph *g, tutti_error *err)
{
    return g->error.status ? tutti_fail(err, g->error.status, "%s", g->error.text) : TUTTI_OK;
}

uint32_t graph_nvalues(const graph *g)
{
    return g->nvalues;
}

const graph_value *graph_value_at(const graph *g, tutti_value v)
{
    assert(v < g->nvalues);
    return &g->values[v];
}

uint32_t graph_nnodes(const graph *g)
{
    return g->nnodes;
}

const graph_node *graph_node_at(const graph *g, uint32_t k)
{
    assert(k < g->nnodes);
    return &g->nodes[k];
}

uint32_t graph_nassigns(const graph *g)
{
    return g->nassigns;
}

graph_assign graph_assign_at(const graph *g, uint32_t k)
{
    return g->assigns[k];
}

uint64_t graph_bytes(const graph *g)
{
    return sizeof *g + pool_bytes(&g->memory) + g->value_room * sizeof *g->values +
           g->node_room * sizeof *g->nodes + g->assign_room * sizeof *g->assigns +
           g->nbuckets * sizeof *g->buckets;
}
