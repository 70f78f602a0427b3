/* output_view.c - outputs that a plan keeps in 16 bits, as others see them: a graph of its own, run when somebody asks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/precision.h"
#include "graph/passes/align_products.h"
#include "graph/plan/plan_internal.h"

#include <stdlib.h>

enum { PLACE_FROM, PLACE_TO, PLACES };

struct output_view {
    compiled_graph compiled;
    uint64_t bytes;
    void *data;
};

const tutti_desc *model_graph_output_desc(const model_graph *b, uint32_t k)
{
    return &b->output_desc[k];
}

const tutti_desc *model_graph_kept_desc(const model_graph *b, uint32_t k)
{
    return &graph_value_at(b->compiled.g, b->outputs[k])->desc;
}

bool model_graph_output_is_kept(const model_graph *b, uint32_t k)
{
    const tutti_desc *kept = model_graph_kept_desc(b, k);
    return kept->dtype == b->output_desc[k].dtype && tutti_same_shape(kept, &b->output_desc[k]);
}

tutti_value output_view_emit(graph *g, tutti_value v, const tutti_desc *seen)
{
    const tutti_value cut =
        seen->rank ? align_products_cut(g, v, seen->dim[seen->rank - 1]) : v;
    return graph_cast(g, cut, seen->dtype);
}

static tutti_status compile(net *n, const tutti_desc *kept, const tutti_desc *seen,
                            output_view *v, tutti_error *err)
{
    tutti_status s = compiled_graph_begin(n, TUTTI_MODE_TRAIN, "outputs", &v->compiled, err);
    if (s)
        return s;
    const program_store store = {
        .value = output_view_emit(v->compiled.g, graph_input(v->compiled.g, kept), seen),
        .kind = STORE_EXTERNAL,
        .index = PLACE_TO,
        .bytes = v->bytes};
    program_spec spec = {.stores = &store, .nstores = 1, .nexternal = PLACES};
    if ((s = graph_error(v->compiled.g, err)) ||
        (s = compiled_graph_compile(n, &v->compiled, &spec, err)))
        return s;
    return compiled_graph_take_arena(&v->compiled, "outputs", err);
}

static tutti_status create(net *n, const model_graph *b, uint32_t k, output_view **ret_view,
                           tutti_error *err)
{
    output_view *v = calloc(1, sizeof *v);
    if (!v)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for outputs that are looked at");
    v->bytes = tutti_nbytes(model_graph_output_desc(b, k));
    tutti_status s =
        compile(n, model_graph_kept_desc(b, k), model_graph_output_desc(b, k), v, err);
    if (!s && !(v->data = device_alloc(n->options.device, v->bytes)))
        s = tutti_fail(err, TUTTI_E_NOMEM,
                       "no memory for outputs of %llu bytes that are looked at",
                       (unsigned long long)v->bytes);
    if (s)
        output_view_destroy(v);
    else
        *ret_view = v;
    return s;
}

tutti_status output_view_run(net *n, model_graph *b, uint32_t k, const void *from,
                             const tutti_step *step, void **ret_data, tutti_error *err)
{
    tutti_status s = b->views[k] ? TUTTI_OK : create(n, b, k, &b->views[k], err);
    if (s)
        return s;
    output_view *v = b->views[k];
    const void *const places[PLACES] = {[PLACE_FROM] = from, [PLACE_TO] = v->data};
    compiled_graph_bind(&v->compiled, places, PLACES);
    s = compiled_graph_run(n, &v->compiled, 0, step, err);
    if (!s)
        *ret_data = v->data;
    return s;
}

uint64_t output_view_bytes(const output_view *v)
{
    return v ? v->bytes + graph_bytes(v->compiled.g) + program_held_bytes(v->compiled.program) +
                   program_bytes(v->compiled.program)
             : 0;
}

void output_view_destroy(output_view *v)
{
    if (!v)
        return;
    device_free(v->compiled.device, v->data);
    compiled_graph_fini(&v->compiled);
    free(v);
}
