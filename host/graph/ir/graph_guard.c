/* graph_guard.c - guards: nodes that a run may skip. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/graph_internal.h"
#include "tutti/ops.h"

#include <stdio.h>

tutti_value graph_build_guard(tutti_graph *b, tutti_value keep)
{
    graph *g = graph_of(b);
    const tutti_desc *d = b->desc(b, keep);
    char text[160], got[96];
    if (g->error.status)
        return g->guard;
    if (d->dtype != TUTTI_F32 || d->rank != 0) {
        (void)snprintf(text, sizeof text, "guard: keep is %s, want one F32 of rank 0",
                       tutti_desc_text(d, got, sizeof got));
        graph_fail_at(g, TUTTI_E_SHAPE, text);
        return g->guard;
    }
    if (!g->guard || g->guard == keep)
        return graph_set_guard(g, keep);
    const tutti_value before = graph_set_guard(g, 0);
    (void)graph_set_guard(g, tutti_mul(b, before, keep));
    return before;
}

void graph_build_unguard(tutti_graph *b, tutti_value before)
{
    (void)graph_set_guard(graph_of(b), before);
}

tutti_value graph_guarded(graph *g, tutti_value target, tutti_value v)
{
    const tutti_value guard = graph_set_guard(g, 0);
    if (guard)
        v = tutti_where(&g->api, guard, v, target);
    (void)graph_set_guard(g, guard);
    return v;
}
