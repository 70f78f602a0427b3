/* graph_guard.c - guards: nodes that a run may skip. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/graph_internal.h"

static tutti_value emit_unguarded(graph *g, const char *op, const tutti_value *in, uint32_t nin)
{
    const tutti_value guard = graph_set_guard(g, 0);
    const tutti_value v = g->api.emit(&g->api, op, in, nin, NULL, 0, NULL, 0);
    (void)graph_set_guard(g, guard);
    return v;
}

tutti_value graph_build_guard(tutti_graph *b, tutti_value keep)
{
    graph *g = graph_of(b);
    const tutti_desc *d = b->desc(b, keep);
    const tutti_value both[2] = {g->guard, keep};
    char text[160], got[96];
    if (g->error.status)
        return g->guard;
    if (d->dtype != TUTTI_F32 || d->rank != 0) {
        (void)snprintf(text, sizeof text, "guard: keep is %s, want one F32 of rank 0",
                       tutti_desc_text(d, got, sizeof got));
        graph_fail_at(g, TUTTI_E_SHAPE, text);
        return g->guard;
    }
    return graph_set_guard(
        g, !g->guard || g->guard == keep ? keep : emit_unguarded(g, "mul", both, 2));
}

void graph_build_unguard(tutti_graph *b, tutti_value before)
{
    (void)graph_set_guard(graph_of(b), before);
}

tutti_value graph_guarded(graph *g, tutti_value target, tutti_value v)
{
    const tutti_value in[3] = {g->guard, v, target};
    return g->guard ? emit_unguarded(g, "where", in, 3) : v;
}
