/* half_refresh.c - making the copies of weights in 16 bits anew. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/precision.h"
#include "graph/net/net_internal.h"

enum { PLACE_WEIGHTS, PLACE_COPIES, PLACES };

static tutti_status compile(net *n, half_area *a, tutti_error *err)
{
    const tutti_desc all = {{a->count}, 1, TUTTI_F32};
    tutti_status s = compiled_graph_begin(n, TUTTI_MODE_TRAIN, "a plan", &a->cast, err);
    if (s)
        return s;
    const tutti_value weights = graph_input(a->cast.g, &all);
    const program_store store = {.value =
                                     graph_cast(a->cast.g, weights, n->storage.half->dtype),
                                 .kind = STORE_EXTERNAL,
                                 .index = PLACE_COPIES,
                                 .bytes = (uint64_t)a->count * sizeof *a->copies};
    program_spec spec = {.stores = &store, .nstores = 1, .nexternal = PLACES};
    s = graph_error(a->cast.g, err);
    if (!s)
        s = compiled_graph_compile(n, &a->cast, &spec, err);
    return s ? s : compiled_graph_take_arena(&a->cast, "a plan", err);
}

static tutti_status refresh(net *n, int area, const tutti_step *step, tutti_error *err)
{
    half_area *a = &n->storage.half->areas[area];
    tutti_status s = TUTTI_OK;
    if (!(a->old || n->storage.half->exposed) || a->count == 0)
        return TUTTI_OK;
    if (!a->cast.program && (s = compile(n, a, err))) {
        compiled_graph_fini(&a->cast);
        return s;
    }
    const void *const places[PLACES] = {half_weights_source(n, area), a->copies};
    compiled_graph_bind(&a->cast, places, PLACES);
    s = compiled_graph_run(n, &a->cast, 0, step, err);
    a->old = s != TUTTI_OK;
    return s;
}

tutti_status half_weights_refresh(net *n, const tutti_step *step, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (int k = 0; k < HALF_AREAS && n->storage.half && !s; k++)
        s = refresh(n, k, step, err);
    return s;
}
