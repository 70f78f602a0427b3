/* onnx_graph.c - an ONNX graph under construction: values, nodes, transposes that meet. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "export/onnx_graph.h"

#include <stdlib.h>
#include <string.h>

static onnx_graph *graph_of_builder(const tutti_graph *b)
{
    return b->ctx;
}

static tutti_status fail(tutti_graph *b, tutti_status status, const char *text)
{
    onnx_graph *g = graph_of_builder(b);
    if (!g->error.status)
        (void)tutti_fail(&g->error, status, "%s", text);
    return status;
}

static tutti_status status(const tutti_graph *b)
{
    return graph_of_builder(b)->error.status;
}

static void no_memory(onnx_graph *g)
{
    (void)fail(&g->builder, TUTTI_E_NOMEM, "no memory for an ONNX graph");
}

/* A zeroed entry at the end of an array; NULL after an error. */
static void *append(onnx_graph *g, void *array, uint32_t *count, uint32_t *capacity,
                    size_t size)
{
    void **items = array;
    if (*count == *capacity) {
        const uint32_t more = *capacity ? 2 * *capacity : 64;
        void *larger = realloc(*items, more * size);
        if (!larger) {
            no_memory(g);
            return NULL;
        }
        *items = larger;
        *capacity = more;
    }
    return memset((char *)*items + (*count)++ * size, 0, size);
}

static void *keep(onnx_graph *g, const void *data, size_t size)
{
    void *copy = pool_take(&g->pool, size);
    if (!copy)
        no_memory(g);
    else if (size)
        memcpy(copy, data, size);
    return copy;
}

tutti_value onnx_graph_leaf(onnx_graph *g, int32_t kind, uint32_t index, const tutti_desc *desc,
                            const onnx_dims *dims)
{
    onnx_value *v = g->error.status
                        ? NULL
                        : append(g, &g->values, &g->nvalues, &g->values_capacity, sizeof *v);
    if (!v)
        return 0;
    v->kind = kind;
    v->index = index;
    v->desc = *desc;
    if (dims)
        v->dims = *dims;
    return g->nvalues - 1;
}

static const tutti_desc *describe(tutti_graph *b, tutti_value v)
{
    static const tutti_desc nothing = {{0}, 0, TUTTI_DTYPE_NONE};
    const onnx_graph *g = graph_of_builder(b);
    return v < g->nvalues ? &g->values[v].desc : &nothing;
}

/* The same constant again is the one that is there. */
static tutti_value constant(tutti_graph *b, const tutti_tensor *t)
{
    onnx_graph *g = graph_of_builder(b);
    const uint64_t bytes = tutti_nbytes(&t->desc);
    for (tutti_value v = 1; v < g->nvalues && !g->error.status; v++)
        if (g->values[v].kind == ONNX_CONSTANT && g->values[v].desc.dtype == t->desc.dtype &&
            tutti_same_shape(&g->values[v].desc, &t->desc) &&
            memcmp(g->values[v].data, t->data, bytes) == 0)
            return v;
    const tutti_value v = onnx_graph_leaf(g, ONNX_CONSTANT, 0, &t->desc, NULL);
    if (v)
        g->values[v].data = keep(g, t->data, bytes);
    return g->error.status ? 0 : v;
}

static tutti_value whole_numbers(onnx_graph *g, int64_t *v, int32_t n, int32_t rank)
{
    const tutti_tensor t = {v, {{n}, rank, TUTTI_I64}, TUTTI_DEVICE_CPU, 0};
    return constant(&g->builder, &t);
}

/* Attributes with what they point at. */
static tutti_attr *keep_attrs(onnx_graph *g, const tutti_attr *attr, uint32_t n)
{
    tutti_attr *copy = keep(g, attr, n * sizeof *attr);
    for (uint32_t k = 0; k < n && copy; k++) {
        copy[k].name = keep(g, attr[k].name, strlen(attr[k].name) + 1);
        if (attr[k].type == TUTTI_ATTR_LIST)
            copy[k].list = keep(g, attr[k].list, attr[k].count * sizeof *attr[k].list);
        if (attr[k].type == TUTTI_ATTR_TEXT)
            copy[k].text = keep(g, attr[k].text, strlen(attr[k].text) + 1);
    }
    return copy;
}

static tutti_value add_node(onnx_graph *g, const char *type, const tutti_value *in,
                            uint32_t nin, const tutti_attr *attr, uint32_t nattr)
{
    const tutti_desc unknown = {{0}, 0, TUTTI_DTYPE_NONE};
    onnx_node n = {.type = keep(g, type, strlen(type) + 1),
                   .scope = g->scope,
                   .op = g->op,
                   .in = keep(g, in, nin * sizeof *in),
                   .attr = keep_attrs(g, attr, nattr),
                   .nin = nin,
                   .nattr = nattr};
    n.out = onnx_graph_leaf(g, ONNX_NODE, g->nnodes, &unknown, NULL);
    onnx_node *at = g->error.status
                        ? NULL
                        : append(g, &g->nodes, &g->nnodes, &g->nodes_capacity, sizeof *at);
    if (!at)
        return 0;
    *at = n;
    return n.out;
}

static tutti_value add_simple(onnx_graph *g, const char *type, tutti_value a, tutti_value b,
                              const tutti_attr *attr)
{
    const tutti_value in[2] = {a, b};
    return add_node(g, type, in, b ? 2 : 1, attr, attr ? 1 : 0);
}

/* `factor` times the number of samples, I64 (1). */
static tutti_value batch_times(onnx_graph *g, int64_t factor)
{
    int64_t first = 0;
    if (!g->batch)
        for (tutti_value v = 1; v < g->nvalues && !g->batch; v++)
            if (g->values[v].kind == ONNX_INPUT && g->values[v].dims.factor[0] == 1)
                g->batch = add_simple(g, "Gather", add_simple(g, "Shape", v, 0, NULL),
                                      whole_numbers(g, &first, 1, 1), NULL);
    return factor == 1 ? g->batch
                       : add_simple(g, "Mul", g->batch, whole_numbers(g, &factor, 1, 1), NULL);
}

/* As a value of the graph; `open`: one dimension may be -1, which its reader finds out. */
static tutti_value dims_value(onnx_graph *g, const onnx_dims *d, bool open)
{
    int64_t list[TUTTI_MAX_RANK] = {0};
    tutti_value part[TUTTI_MAX_RANK] = {0};
    const tutti_attr axis = tutti_attr_i("axis", 0);
    int32_t changing = 0;
    for (int32_t k = 0; k < d->rank; k++) {
        changing += d->factor[k] != 0;
        list[k] = d->factor[k] ? -1 : d->dim[k];
    }
    if (changing == 0 || (changing == 1 && open))
        return whole_numbers(g, list, d->rank, 1);
    for (int32_t k = 0; k < d->rank; k++)
        part[k] =
            d->factor[k] ? batch_times(g, d->factor[k]) : whole_numbers(g, &list[k], 1, 1);
    return add_node(g, "Concat", part, (uint32_t)d->rank, &axis, 1);
}

tutti_value onnx_graph_transpose(onnx_graph *g, tutti_value x, const int64_t *order,
                                 int32_t rank)
{
    int64_t whole[TUTTI_MAX_RANK] = {0};
    bool moves = false;
    const tutti_value base = x && g->values[x].base ? g->values[x].base : x;
    for (int32_t k = 0; k < rank; k++) {
        whole[k] = base != x ? g->values[x].order[order[k]] : order[k];
        moves = moves || whole[k] != k;
    }
    if (!moves)
        return base;
    const tutti_attr perm = tutti_attr_list("perm", whole, (uint32_t)rank);
    const tutti_value v = add_simple(g, "Transpose", base, 0, &perm);
    if (v) {
        g->values[v].base = base;
        memcpy(g->values[v].order, whole, sizeof whole);
    }
    return v;
}

static tutti_value emit(tutti_graph *b, const char *type, const tutti_value *in, uint32_t nin,
                        const tutti_attr *attr, uint32_t nattr, tutti_value *out, uint32_t nout)
{
    onnx_graph *g = graph_of_builder(b);
    tutti_value read[TUTTI_OP_MAX_IN];
    if (nin > TUTTI_OP_MAX_IN || nout > 1)
        (void)fail(b, TUTTI_E_RANGE, "an ONNX operator with too many operands or results");
    while (nin && !in[nin - 1])
        nin--; /* what is left out at the end */
    if (g->error.status)
        return 0;
    if (strcmp(type, "Transpose") == 0 && nattr == 1)
        read[0] = onnx_graph_transpose(g, in[0], attr->list, (int32_t)attr->count);
    else {
        for (uint32_t k = 0; k < nin; k++) {
            const onnx_dims dims = g->values[in[k]].dims; /* values move as they become more */
            read[k] = g->values[in[k]].kind == ONNX_DIMS
                          ? dims_value(g, &dims, strcmp(type, "Reshape") == 0)
                          : in[k];
        }
        read[0] = add_node(g, type, read, nin, attr, nattr);
    }
    if (nout && out)
        out[0] = read[0];
    return read[0];
}

static tutti_value no_weight(tutti_graph *b, tutti_module m, const char *name)
{
    (void)m, (void)name;
    (void)fail(b, TUTTI_E_UNSUPPORTED, "a rule for ONNX reads no weights");
    return 0;
}

static void no_assign(tutti_graph *b, tutti_value target, tutti_value v)
{
    (void)target, (void)v;
    (void)fail(b, TUTTI_E_UNSUPPORTED, "a rule for ONNX assigns nothing");
}

static tutti_status no_call(tutti_graph *b, tutti_module m, const tutti_value *in, uint32_t nin,
                            tutti_value *out, uint32_t nout)
{
    (void)m, (void)in, (void)nin, (void)out, (void)nout;
    return fail(b, TUTTI_E_UNSUPPORTED, "a rule for ONNX calls no modules");
}

static tutti_value no_guard(tutti_graph *b, tutti_value keep_)
{
    (void)keep_;
    (void)fail(b, TUTTI_E_UNSUPPORTED, "a rule for ONNX guards nothing");
    return 0;
}

static void no_unguard(tutti_graph *b, tutti_value before)
{
    (void)b, (void)before;
}

void onnx_graph_init(onnx_graph *g, onnx_samples samples)
{
    memset(g, 0, sizeof *g);
    g->error = (tutti_error)TUTTI_ERROR_INIT;
    g->samples = samples;
    g->scope = g->op = "";
    g->builder = (tutti_graph){.struct_size = sizeof g->builder,
                               .mode = TUTTI_MODE_EVAL,
                               .ctx = g,
                               .emit = emit,
                               .desc = describe,
                               .weight = no_weight,
                               .constant = constant,
                               .assign = no_assign,
                               .call = no_call,
                               .fail = fail,
                               .status = status,
                               .guard = no_guard,
                               .unguard = no_unguard};
    (void)append(g, &g->values, &g->nvalues, &g->values_capacity, sizeof *g->values);
}

void onnx_graph_fini(onnx_graph *g)
{
    pool_free(&g->pool);
    free(g->values);
    free(g->nodes);
}

void onnx_graph_at(onnx_graph *g, const char *scope, const char *op)
{
    if (strcmp(g->scope, scope) != 0)
        g->scope = keep(g, scope, strlen(scope) + 1);
    if (!g->scope)
        g->scope = "";
    g->op = op;
}

onnx_dims onnx_dims_of(onnx_graph *g, const tutti_desc *here, const tutti_desc *there)
{
    onnx_dims d = {.rank = here->rank};
    for (int32_t k = 0; k < here->rank; k++) {
        d.dim[k] = here->dim[k];
        if (here->dim[k] == there->dim[k])
            continue;
        d.factor[k] = here->dim[k] / g->samples.here;
        if (d.factor[k] * g->samples.here != here->dim[k] ||
            d.factor[k] * g->samples.there != there->dim[k])
            g->fixed = true;
    }
    return d;
}

void onnx_graph_mark(onnx_graph *g, const tutti_value *outputs, uint32_t noutputs)
{
    for (uint32_t k = 0; k < noutputs; k++)
        if (g->values[outputs[k]].kind == ONNX_NODE)
            g->nodes[g->values[outputs[k]].index].live = true;
    for (uint32_t k = g->nnodes; k-- > 0;)
        for (uint32_t j = 0; j < g->nodes[k].nin && g->nodes[k].live; j++)
            if (g->values[g->nodes[k].in[j]].kind == ONNX_NODE && g->nodes[k].in[j])
                g->nodes[g->values[g->nodes[k].in[j]].index].live = true;
}

static bool same_attrs(const onnx_node *x, const onnx_node *y)
{
    bool same = x->nattr == y->nattr;
    for (uint32_t k = 0; k < x->nattr && same; k++) {
        const tutti_attr *a = &x->attr[k], *b = &y->attr[k];
        same = a->type == b->type && strcmp(a->name, b->name) == 0;
        if (same && a->type == TUTTI_ATTR_LIST)
            same = a->count == b->count &&
                   memcmp(a->list, b->list, a->count * sizeof *a->list) == 0;
        else if (same)
            same = a->i == b->i && a->f == b->f;
    }
    return same;
}

static bool same_values(const onnx_value *x, const onnx_value *y)
{
    if (x->kind != y->kind || x->index != y->index)
        return false;
    return x->kind != ONNX_CONSTANT ||
           (tutti_same_shape(&x->desc, &y->desc) && x->desc.dtype == y->desc.dtype &&
            memcmp(x->data, y->data, tutti_nbytes(&x->desc)) == 0);
}

const onnx_node *onnx_graph_difference(const onnx_graph *a, const onnx_graph *b)
{
    for (uint32_t k = 0; k < a->nnodes; k++) {
        const onnx_node *x = &a->nodes[k], *y = k < b->nnodes ? &b->nodes[k] : NULL;
        bool same = y && strcmp(x->type, y->type) == 0 && x->nin == y->nin && same_attrs(x, y);
        for (uint32_t j = 0; j < x->nin && same; j++)
            same =
                x->in[j] == y->in[j] && same_values(&a->values[x->in[j]], &b->values[y->in[j]]);
        if (!same)
            return x;
    }
    return NULL;
}
