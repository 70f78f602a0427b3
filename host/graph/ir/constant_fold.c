/* constant_fold.c - constants worked out while the graph is built, and operations that change nothing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/constant_fold.h"
#include "graph/ir/attr.h"

#include <string.h>

/* A folded constant lives as long as its graph, so large ones are computed by the plan. */
enum { MOST_BYTES = 64 << 10, MOST_FIELDS = 8 };

static bool same_desc(const tutti_desc *a, const tutti_desc *b)
{
    return a->dtype == b->dtype && tutti_same_shape(a, b);
}

static bool is_narrow(int32_t dtype)
{
    return dtype == TUTTI_BF16 || dtype == TUTTI_F16;
}

static bool is(const tutti_op *op, const char *name)
{
    return strcmp(op->name, name) == 0;
}

/* The attribute `name`; NULL when there is none. */
static const tutti_attr *find(const tutti_op *op, const void *blob, const char *name,
                              tutti_list *lists, tutti_attr *attrs)
{
    if (op->nfields > MOST_FIELDS)
        return NULL;
    attr_encode(op, blob, lists, attrs);
    for (uint64_t k = 0; k < op->nfields; k++)
        if (strcmp(attrs[k].name, name) == 0)
            return &attrs[k];
    return NULL;
}

static bool has_number(const tutti_op *op, const void *blob, const char *name, double value)
{
    tutti_list lists[MOST_FIELDS];
    tutti_attr attrs[MOST_FIELDS];
    const tutti_attr *a = find(op, blob, name, lists, attrs);
    return a && a->f == value;
}

/* order = [0, 1, ...] */
static bool keeps_order(const tutti_op *op, const void *blob)
{
    tutti_list lists[MOST_FIELDS];
    tutti_attr attrs[MOST_FIELDS];
    const tutti_attr *a = find(op, blob, "order", lists, attrs);
    for (uint32_t k = 0; a && k < a->count; k++)
        if (a->list[k] != (int64_t)k)
            return false;
    return a != NULL;
}

/* An f32 constant all of whose elements are `value`. */
static bool is_all(const graph *g, tutti_value v, float value)
{
    const graph_value *x = &g->values[v];
    if (x->kind != VALUE_CONST || x->desc.dtype != TUTTI_F32)
        return false;
    for (int64_t k = 0, n = tutti_numel(&x->desc); k < n; k++)
        if (((const float *)x->data)[k] != value)
            return false;
    return true;
}

/* The input that the node gives back, or 0. */
static tutti_value unchanged(const graph *g, const tutti_op *op, const tutti_op_call *call,
                             const tutti_value *in, const tutti_desc *out)
{
    if (op->nout != 1 || call->nin < 1 || call->nin > 2)
        return 0;
    const bool first = same_desc(&call->in[0], out);
    if (call->nin == 1)
        return first && (is(op, "reshape") || is(op, "broadcast_to") || is(op, "sum_to") ||
                         is(op, "cast") || (is(op, "permute") && keeps_order(op, call->attr)) ||
                         (is(op, "affine") && has_number(op, call->attr, "scale", 1.0) &&
                          has_number(op, call->attr, "shift", 0.0)))
                   ? in[0]
                   : 0;
    const bool second = same_desc(&call->in[1], out);
    if (first && ((is_all(g, in[1], 1.0f) && (is(op, "mul") || is(op, "div"))) ||
                  (is_all(g, in[1], 0.0f) && (is(op, "add") || is(op, "sub")))))
        return in[0];
    if (second && ((is_all(g, in[0], 1.0f) && is(op, "mul")) ||
                   (is_all(g, in[0], 0.0f) && is(op, "add"))))
        return in[1];
    return 0;
}

static bool can_run(const graph *g, const tutti_op *op, const tutti_op_call *call,
                    const tutti_value *in, const tutti_desc *out)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < call->nin; k++)
        if (g->values[in[k]].kind != VALUE_CONST || is_narrow(call->in[k].dtype))
            return false;
    for (uint32_t k = 0; k < op->nout; k++) {
        bytes += tutti_nbytes(&out[k]);
        if (is_narrow(out[k].dtype))
            return false;
    }
    return call->nin && bytes <= MOST_BYTES && !(op->flags & TUTTI_OP_RNG) &&
           (op->flags & TUTTI_OP_VIEW || op->cpu);
}

/* Runs the kernel into data[0..nout).  False when it refuses: the run will say why. */
static bool run(const graph *g, const tutti_op *op, const tutti_op_call *call,
                const tutti_value *in, const tutti_desc *out, void *const *data)
{
    static const tutti_step step = {.struct_size = sizeof step};
    const void *from[TUTTI_OP_MAX_IN];
    tutti_op_call now = *call;
    pool scratch = {NULL};
    void *state = NULL;
    uint64_t bytes = 0;
    now.out = out;
    now.step = &step;
    for (uint32_t k = 0; k < call->nin; k++)
        from[k] = g->values[in[k]].data;
    if (op->flags & TUTTI_OP_VIEW) {
        memcpy(data[0], from[0], tutti_nbytes(&out[0]));
        return true;
    }
    if (op->cpu->prepare && op->cpu->prepare(&now, &state, &bytes, NULL))
        return false;
    void *room = bytes ? pool_take(&scratch, bytes) : NULL;
    const bool done =
        (!bytes || room) && op->cpu->run(state, &now, from, data, room) == TUTTI_OK;
    if (op->cpu->prepare && op->cpu->destroy)
        op->cpu->destroy(state);
    pool_free(&scratch);
    return done;
}

static tutti_value constants(graph *g, const tutti_op *op, const tutti_op_call *call,
                             const tutti_value *in, const tutti_desc *out)
{
    void *data[TUTTI_OP_MAX_OUT];
    for (uint32_t k = 0; k < op->nout; k++) {
        data[k] = pool_take(&g->memory, tutti_nbytes(&out[k]));
        if (!data[k])
            return 0;
    }
    if (!run(g, op, call, in, out, data) ||
        !graph_reserve(&g->values, &g->value_capacity, g->nvalues, op->nout, sizeof *g->values))
        return 0;
    const tutti_value first = g->nvalues;
    for (uint32_t k = 0; k < op->nout; k++) {
        const tutti_value v = graph_add_value(g, &out[k], VALUE_CONST, 0);
        g->values[v].data = data[k];
    }
    return first;
}

tutti_value constant_fold(graph *g, const tutti_op *op, const tutti_op_call *call,
                          const tutti_value *in, const tutti_desc *out)
{
    /* Behind a guard even what is known may be zeros. */
    if (g->guard)
        return 0;
    const tutti_value same = unchanged(g, op, call, in, out);
    if (same)
        return same;
    return can_run(g, op, call, in, out) ? constants(g, op, call, in, out) : 0;
}
