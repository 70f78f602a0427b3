/* constant_fold.c - constant folding (constant fold): constants are computed while the graph is built, identities left out. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/constant_fold.h"
#include "graph/ir/traits.h"

#include <string.h>

/* A folded constant lives as long as its graph, so large ones are computed by the plan. */
enum { MOST_BYTES = 64 << 10 };

static bool same_desc(const tutti_desc *a, const tutti_desc *b)
{
    return a->dtype == b->dtype && tutti_same_shape(a, b);
}

static bool is_narrow(int32_t dtype)
{
    return dtype == TUTTI_BF16 || dtype == TUTTI_F16;
}

/* The operand that the node gives back, or 0. */
static tutti_value unchanged(const graph *g, const tutti_op *op, const tutti_op_call *call,
                             const tutti_value *in, const tutti_desc *out)
{
    const tutti_op_traits *t = traits_of(op);
    const void *constant[TUTTI_OP_MAX_IN];
    if (op->nout != 1 || t->fold != TUTTI_FOLD_IDENTITY || !t->identity)
        return 0;
    for (uint32_t k = 0; k < call->nin; k++)
        constant[k] = g->values[in[k]].kind == VALUE_CONST ? g->values[in[k]].data : NULL;
    const uint32_t same = t->identity(call, constant);
    for (uint32_t k = 0; k < call->nin; k++)
        if (same >> k & 1 && same_desc(&call->in[k], out))
            return in[k];
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
           traits_of(op)->fold != TUTTI_FOLD_NEVER && (op->flags & TUTTI_OP_VIEW || op->cpu);
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
    void *capacity = bytes ? pool_take(&scratch, bytes) : NULL;
    const bool done =
        (!bytes || capacity) && op->cpu->run(state, &now, from, data, capacity) == TUTTI_OK;
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
