/* output_copy.c - copies of outputs that a plan keeps in 16 bits or padded, in F32: a graph of its own, run when somebody asks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/precision.h"
#include "graph/passes/align_gemms.h"
#include "graph/plan/plan_internal.h"

#include <stdlib.h>

enum { PLACE_FROM, PLACE_TO, PLACES };

struct output_copy {
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

tutti_value output_copy_emit(graph *g, tutti_value v, const tutti_desc *seen)
{
    const tutti_value cut = seen->rank ? align_gemms_slice(g, v, seen->dim[seen->rank - 1]) : v;
    return graph_cast(g, cut, seen->dtype);
}

static tutti_status compile(net *n, const tutti_desc *kept, const tutti_desc *seen,
                            output_copy *c, tutti_error *err)
{
    tutti_status s = compiled_graph_begin(n, TUTTI_MODE_TRAIN, "outputs", &c->compiled, err);
    if (s)
        return s;
    const program_store store = {
        .value = output_copy_emit(c->compiled.g, graph_input(c->compiled.g, kept), seen),
        .kind = STORE_EXTERNAL,
        .index = PLACE_TO,
        .bytes = c->bytes};
    program_spec spec = {.stores = &store, .nstores = 1, .nexternal = PLACES};
    if ((s = graph_error(c->compiled.g, err)) ||
        (s = compiled_graph_compile(n, &c->compiled, &spec, err)))
        return s;
    return compiled_graph_take_arena(&c->compiled, "outputs", err);
}

static tutti_status create(net *n, const model_graph *b, uint32_t k, output_copy **ret_copy,
                           tutti_error *err)
{
    output_copy *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for outputs that are looked at");
    c->bytes = tutti_nbytes(model_graph_output_desc(b, k));
    tutti_status s =
        compile(n, model_graph_kept_desc(b, k), model_graph_output_desc(b, k), c, err);
    if (!s && !(c->data = device_alloc(n->options.device, c->bytes)))
        s = tutti_fail(err, TUTTI_E_NOMEM,
                       "no memory for outputs of %llu bytes that are looked at",
                       (unsigned long long)c->bytes);
    if (s)
        output_copy_destroy(c);
    else
        *ret_copy = c;
    return s;
}

tutti_status output_copy_run(net *n, model_graph *b, uint32_t k, const void *from,
                             const tutti_step *step, void **ret_data, tutti_error *err)
{
    tutti_status s = b->copies[k] ? TUTTI_OK : create(n, b, k, &b->copies[k], err);
    if (s)
        return s;
    output_copy *c = b->copies[k];
    const void *const places[PLACES] = {[PLACE_FROM] = from, [PLACE_TO] = c->data};
    compiled_graph_bind(&c->compiled, places, PLACES);
    s = compiled_graph_run(n, &c->compiled, 0, step, err);
    if (!s)
        *ret_data = c->data;
    return s;
}

uint64_t output_copy_bytes(const output_copy *c)
{
    return c ? c->bytes + graph_bytes(c->compiled.g) + program_held_bytes(c->compiled.program) +
                   program_bytes(c->compiled.program)
             : 0;
}

void output_copy_destroy(output_copy *c)
{
    if (!c)
        return;
    device_free(c->compiled.device, c->data);
    compiled_graph_fini(&c->compiled);
    free(c);
}
