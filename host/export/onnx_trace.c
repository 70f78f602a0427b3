/* onnx_trace.c - the model as an ONNX graph: each node by the rule of its operation. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "export/onnx_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One node on its way: what its rule sees, and the shapes of its result in both traces. */
typedef struct rule_call {
    tutti_onnx o;
    onnx_graph *g;
    const tutti_desc *here, *there;
} rule_call;

static tutti_value shape_of_result(const tutti_onnx *o)
{
    const rule_call *c = (const rule_call *)(const void *)o; /* its first member */
    const onnx_dims dims = onnx_dims_of(c->g, c->here, c->there);
    const tutti_desc d = {{dims.rank}, 1, TUTTI_I64};
    return onnx_graph_leaf(c->g, ONNX_DIMS, 0, &d, &dims);
}

/* Number by number, on transposes of one order and single numbers: then the transpose may come after it, where
 * it meets the next.  Writes what is transposed; returns that order, or NULL. */
static const int64_t *common_order(const onnx_graph *g, const tutti_op_call *c,
                                   const tutti_op *op, const tutti_value *in, tutti_value *ret)
{
    const int64_t *order = NULL;
    for (uint32_t k = 0; k < c->nin; k++) {
        const onnx_value *v = &g->values[in[k]];
        ret[k] = v->base ? v->base : in[k];
        if (c->in[k].rank == 0)
            continue;
        if (!v->base || c->in[k].rank != c->out[0].rank ||
            (order && memcmp(order, v->order, sizeof v->order) != 0))
            return NULL;
        order = v->order;
    }
    return op->flags & TUTTI_OP_ELEMENTWISE ? order : NULL;
}

static tutti_status refuse(const graph_node *n, const char *what, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: operation %s %s",
                      *n->scope ? n->scope : "the model", n->op->name, what);
}

/* The rule's operators for node `n`, whose operands are `in`. */
static tutti_status call_rule(onnx_graph *g, const graph_node *n, const tutti_op_call *call,
                              const tutti_desc *there, const tutti_value *in, tutti_value *ret,
                              tutti_error *err)
{
    const tutti_op_traits *traits = n->op->traits;
    tutti_value base[TUTTI_OP_MAX_IN];
    int64_t order[TUTTI_MAX_RANK];
    if (!traits || (!traits->onnx && !traits->onnx_type))
        return refuse(n, "has no form in ONNX", err);
    const int64_t *common = common_order(g, call, n->op, in, base);
    if (common)
        memcpy(order, common, sizeof order);
    rule_call c = {.o = {.struct_size = sizeof c.o,
                         .nin = n->nin,
                         .graph = &g->builder,
                         .call = call,
                         .in = common ? base : in,
                         .opset = TUTTI_ONNX_OPSET,
                         .shape = shape_of_result},
                   .g = g,
                   .here = call->out,
                   .there = there};
    onnx_graph_at(g, n->scope, n->op->name);
    *ret = traits->onnx ? traits->onnx(&c.o)
                        : g->builder.emit(&g->builder, traits->onnx_type, c.o.in, n->nin, NULL,
                                          0, NULL, 0);
    if (common && *ret)
        *ret = onnx_graph_transpose(g, *ret, order, call->out[0].rank);
    if (g->error.status)
        return tutti_fail(err, g->error.status, "%s: operation %s: %s",
                          *n->scope ? n->scope : "the model", n->op->name, g->error.text);
    return *ret ? TUTTI_OK : refuse(n, "gives its rule for ONNX no result", err);
}

static tutti_status add_graph_node(onnx_graph *g, const eval_graph *here,
                                   const eval_graph *there, uint32_t k, tutti_value *map,
                                   tutti_error *err)
{
    const graph_node *n = graph_node_at(here->g, k);
    tutti_desc in[TUTTI_OP_MAX_IN], out[TUTTI_OP_MAX_OUT];
    tutti_value operands[TUTTI_OP_MAX_IN];
    if (n->guard)
        return refuse(n, "is skipped in some runs, which ONNX cannot say", err);
    for (uint32_t j = 0; j < n->nin; j++) {
        in[j] = graph_value_at(here->g, n->in[j])->desc;
        if (!(operands[j] = map[n->in[j]]))
            return refuse(n, "reads a second result, which ONNX does not have", err);
    }
    for (uint32_t j = 0; j < n->op->nout; j++)
        out[j] = graph_value_at(here->g, n->out + j)->desc;
    const tutti_op_call call = {.struct_size = sizeof call,
                                .nin = n->nin,
                                .nout = n->op->nout,
                                .threads = 1,
                                .in = in,
                                .out = out,
                                .attr = n->attr};
    const tutti_status s = call_rule(g, n, &call, &graph_value_at(there->g, n->out)->desc,
                                     operands, &map[n->out], err);
    if (!s && !g->values[map[n->out]].desc.dtype)
        g->values[map[n->out]].desc = out[0];
    return s;
}

/* Inputs, weights and constants. */
static void add_leaves(onnx_trace *t, const eval_graph *here, const eval_graph *there,
                       tutti_value *map)
{
    for (uint32_t k = 0; k < here->ninputs; k++) {
        const tutti_desc *d = &graph_value_at(here->g, here->inputs[k])->desc;
        const onnx_dims dims =
            onnx_dims_of(&t->g, d, &graph_value_at(there->g, there->inputs[k])->desc);
        t->names[k] = here->names[k];
        map[here->inputs[k]] = onnx_graph_leaf(&t->g, ONNX_INPUT, k, d, &dims);
    }
    t->ninputs = here->ninputs;
    for (tutti_value v = 1; v < graph_nvalues(here->g); v++) {
        const graph_value *value = graph_value_at(here->g, v);
        if (value->kind == VALUE_WEIGHT)
            map[v] = onnx_graph_leaf(&t->g, ONNX_WEIGHT, value->index, &value->desc, NULL);
        else if (value->kind == VALUE_CONST) {
            const tutti_tensor c = {(void *)(uintptr_t)value->data, value->desc,
                                    TUTTI_DEVICE_CPU, 0};
            map[v] = t->g.builder.constant(&t->g.builder, &c);
        }
    }
}

static void add_outputs(onnx_trace *t, const eval_graph *here, const eval_graph *there,
                        const tutti_value *map)
{
    t->noutputs = here->noutputs;
    onnx_graph_at(&t->g, "", "");
    for (uint32_t k = 0; k < here->noutputs; k++) {
        const tutti_desc *d = &graph_value_at(here->g, here->outputs[k])->desc;
        const tutti_value v = map[here->outputs[k]];
        t->output_desc[k] = *d;
        t->output_dims[k] =
            onnx_dims_of(&t->g, d, &graph_value_at(there->g, there->outputs[k])->desc);
        bool own = v && t->g.values[v].kind == ONNX_NODE; /* it can have the output's name */
        for (uint32_t j = 0; j < k; j++)
            own = own && t->outputs[j] != v;
        t->outputs[k] =
            own || !v ? v
                      : t->g.builder.emit(&t->g.builder, "Identity", &v, 1, NULL, 0, NULL, 0);
    }
}

/* Whether the two traces are of one form. */
static bool alike(const eval_graph *a, const eval_graph *b)
{
    bool same =
        graph_nvalues(a->g) == graph_nvalues(b->g) && graph_nnodes(a->g) == graph_nnodes(b->g);
    for (tutti_value v = 1; same && v < graph_nvalues(a->g); v++)
        same = graph_value_at(a->g, v)->desc.rank == graph_value_at(b->g, v)->desc.rank;
    return same;
}

static tutti_status build(const eval_graph *here, const eval_graph *there, onnx_samples samples,
                          onnx_trace *t, tutti_error *err)
{
    const uint32_t nnodes = graph_nnodes(here->g);
    tutti_value *map = calloc(graph_nvalues(here->g), sizeof *map);
    bool *live = calloc((size_t)nnodes + 1, sizeof *live);
    tutti_status s =
        map && live ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for an ONNX graph");
    memset(t, 0, sizeof *t);
    onnx_graph_init(&t->g, samples);
    if (!s) {
        add_leaves(t, here, there, map);
        graph_mark_live(here->g, here->outputs, here->noutputs, live);
        s = t->g.error.status ? tutti_fail(err, t->g.error.status, "%s", t->g.error.text)
                              : TUTTI_OK;
    }
    for (uint32_t k = 0; k < nnodes && !s; k++)
        if (live[k])
            s = add_graph_node(&t->g, here, there, k, map, err);
    if (!s)
        add_outputs(t, here, there, map);
    for (uint32_t k = 0; k < here->noutputs && !s && !t->g.error.status; k++)
        if (!t->outputs[k])
            s = tutti_fail(err, TUTTI_E_UNSUPPORTED,
                           "output %u of the model is a second result of an operation", k);
    if (!s && t->g.error.status)
        s = tutti_fail(err, t->g.error.status, "%s", t->g.error.text);
    if (!s)
        onnx_graph_mark(&t->g, t->outputs, t->noutputs);
    free(map);
    free(live);
    if (s)
        onnx_trace_fini(t);
    return s;
}

/* For any number of samples: traces of two numbers give one graph.  *ret_any: whether they do. */
static tutti_status build_any(net *n, onnx_trace *ret, bool *ret_any, onnx_report *report,
                              tutti_error *err)
{
    enum { A = 2, B = 3 };
    eval_graph a = {.g = NULL}, b = {.g = NULL};
    onnx_trace other;
    *ret_any = false;
    (void)snprintf(report->reason, sizeof report->reason, "the model's form depends on it");
    tutti_status s = eval_graph_trace(n, A, &a, err);
    if (!s)
        s = eval_graph_trace(n, B, &b, err);
    if (s || !alike(&a, &b))
        goto end;
    if ((s = build(&a, &b, (onnx_samples){A, B}, ret, err)))
        goto end;
    if ((s = build(&b, &a, (onnx_samples){B, A}, &other, err))) {
        onnx_trace_fini(ret);
        goto end;
    }
    const onnx_node *differs = onnx_graph_difference(&ret->g, &other.g);
    *ret_any = !differs && !ret->g.fixed && ret->g.nnodes == other.g.nnodes;
    if (differs)
        (void)snprintf(report->reason, sizeof report->reason, "%s: operation %s depends on it",
                       *differs->scope ? differs->scope : "the model", differs->op);
    onnx_trace_fini(&other);
    if (!*ret_any)
        onnx_trace_fini(ret);
end:
    eval_graph_fini(&a);
    eval_graph_fini(&b);
    return s;
}

tutti_status onnx_trace_model(net *n, int64_t samples, onnx_trace *ret, onnx_report *ret_report,
                              tutti_error *err)
{
    eval_graph e;
    bool any = false;
    memset(ret_report, 0, sizeof *ret_report);
    tutti_status s = samples ? TUTTI_OK : build_any(n, ret, &any, ret_report, err);
    if (s)
        return s;
    if (any) {
        ret_report->reason[0] = '\0';
        return TUTTI_OK;
    }
    ret_report->samples = samples ? samples : 1;
    if ((s = eval_graph_trace(n, ret_report->samples, &e, err)))
        return s;
    s = build(&e, &e, (onnx_samples){ret_report->samples, ret_report->samples}, ret, err);
    eval_graph_fini(&e);
    return s;
}

void onnx_trace_fini(onnx_trace *t)
{
    onnx_graph_fini(&t->g);
}
