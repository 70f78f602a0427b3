/* activations.c - what goes into each module and comes out: a forward pass once more, with nothing fused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/interpreter.h"
#include "graph/net/module_calls.h"
#include "graph/passes/autocast.h"
#include "graph/plan/plan_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- the graph ---- */

typedef struct observation {
    net *n;
    compiled_graph compiled;
    module_calls calls;
} observation;

static void observation_fini(observation *o)
{
    compiled_graph_fini(&o->compiled);
    module_calls_fini(&o->calls);
}

static tutti_status trace(observation *o, const plan *p, tutti_error *err)
{
    net *n = o->n;
    tutti_value inputs[TUTTI_MAX_COLUMNS], outputs[NET_MAX_OUTPUTS] = {0};
    const uint32_t nin = p->request.ninputs, nout = n->model.table->noutputs;
    tutti_status s =
        compiled_graph_begin(n, plan_mode(p->request.kind), "activations", &o->compiled, err);
    if (s)
        return s;
    for (uint32_t k = 0; k < nin; k++)
        inputs[k] = graph_input(o->compiled.g, &p->request.inputs[k]);
    graph_set_segment(o->compiled.g, 0);
    n->tracing.calls = &o->calls;
    s = net_trace_model(n, graph_builder(o->compiled.g), inputs, nin, outputs, nout);
    n->tracing.calls = NULL;
    if (s)
        return graph_error(o->compiled.g, err);
    module_calls_add(&o->calls, 1, inputs, nin, outputs, nout);
    return o->calls.failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for activations")
                           : TUTTI_OK;
}

/* Brings in the run's precision. */
static tutti_status cast(observation *o, int kind, tutti_error *err)
{
    const int precision = o->n->options.precision;
    const graph_autocast half = {precision == NET_AMP_BF16   ? TUTTI_BF16
                                 : precision == NET_AMP_FP16 ? TUTTI_F16
                                                             : TUTTI_DTYPE_NONE,
                                 false};
    if (!half.dtype)
        return TUTTI_OK;
    graph *to = net_graph(o->n, plan_mode(kind));
    tutti_value *map = calloc(graph_nvalues(o->compiled.g), sizeof *map);
    const tutti_status s = to && map ? autocast_graph(o->compiled.g, &half, to, map, err)
                                     : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a cast");
    for (uint32_t k = 0; k < o->calls.nvalues && !s; k++)
        o->calls.values[k] = map[o->calls.values[k]];
    free(map);
    if (s) {
        graph_destroy(to);
        return s;
    }
    graph_destroy(o->compiled.g);
    o->compiled.g = to;
    return TUTTI_OK;
}

/* Every value that is looked at stays to the end; no buffer is assigned.  compiled_graph_compile would hand the program
 * the net's autotuner, which measures kernels for shapes that nothing else runs and takes algorithms of other bits. */
static tutti_status compile(observation *o, uint32_t ninputs, tutti_error *err)
{
    const program_spec spec = {.g = o->compiled.g,
                               .keep = o->calls.values,
                               .nkeep = o->calls.nvalues,
                               .weights = o->n->tree.addresses,
                               .nexternal = ninputs,
                               .threads = o->n->options.threads,
                               .device = o->n->options.device};
    const tutti_status s = program_create(&spec, &o->compiled.program, err);
    return s ? s : compiled_graph_take_arena(&o->compiled, "activations", err);
}

static tutti_status run(observation *o, plan *p, const tutti_step *step, tutti_error *err)
{
    const void *places[TUTTI_MAX_COLUMNS];
    for (uint32_t k = 0; k < p->request.ninputs; k++)
        places[k] = plan_input(p, k).data;
    compiled_graph_bind(&o->compiled, places, p->request.ninputs);
    return program_run_uncaptured(o->compiled.program, 0, step, err);
}

/* ---- what is handed out ---- */

static tutti_status tensor_upcast(tutti_tensor *t, tutti_error *err)
{
    const tutti_tensor from = *t;
    const int64_t n = tutti_numel(&from.desc);
    float *f32 = malloc((size_t)n * sizeof *f32 + 1);
    if (!f32)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for an activation");
    for (int64_t k = 0; k < n; k++)
        f32[k] = (float)tensor_get(&from, k);
    t->data = f32;
    t->desc.dtype = TUTTI_F32;
    return TUTTI_OK;
}

/* A view of value `v` on the host; what is made for it goes to owned[0] and owned[1]. */
static tutti_status show(const observation *o, tutti_value v, tutti_tensor *ret, void **owned,
                         tutti_error *err)
{
    const tutti_device *d = o->n->options.device;
    tutti_tensor t = {program_address(o->compiled.program, v),
                      graph_value_at(o->compiled.g, v)->desc, TUTTI_DEVICE_CPU, 0};
    tutti_status s = TUTTI_OK;
    if (!device_is_host(d)) {
        const uint64_t bytes = tutti_nbytes(&t.desc);
        const void *there = t.data;
        t.data = owned[0] = malloc(bytes + 1);
        s = t.data ? device_copy(d, t.data, there, bytes, TUTTI_COPY_FROM_DEVICE, err)
                   : tutti_fail(err, TUTTI_E_NOMEM, "no memory for an activation");
    }
    if (!s && (t.desc.dtype == TUTTI_BF16 || t.desc.dtype == TUTTI_F16)) {
        s = tensor_upcast(&t, err);
        owned[1] = s ? NULL : t.data;
    }
    *ret = t;
    return s;
}

static tutti_status hand_out(observation *o, const module_call *c, tutti_activation_fn each,
                             void *each_ctx, tutti_error *err)
{
    const uint32_t n = c->nin + c->nout;
    tutti_tensor *tensors = calloc(n + 1, sizeof *tensors);
    void **owned = calloc(2 * (size_t)n + 1, sizeof *owned);
    tutti_status s =
        tensors && owned ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for tensors");
    for (uint32_t k = 0; k < n && !s; k++)
        s = show(o, o->calls.values[c->first + k], &tensors[k], &owned[2 * (size_t)k], err);
    if (!s) {
        const module *m = net_module(o->n, c->module);
        const tutti_activation a = {.struct_size = sizeof a,
                                    .ninputs = c->nin,
                                    .noutputs = c->nout,
                                    .path = module_tree_path(o->n, c->module),
                                    .kind = m->kind,
                                    .inputs = tensors,
                                    .outputs = tensors + c->nin};
        s = each(each_ctx, &a, err);
    }
    for (size_t k = 0; owned && k < 2 * (size_t)n; k++)
        free(owned[k]);
    free(owned);
    free(tensors);
    return s;
}

tutti_status plan_activations(plan *p, const tutti_step *step, tutti_activation_fn each,
                              void *each_ctx, tutti_error *err)
{
    observation o = {.n = p->n};
    tutti_status s = trace(&o, p, err);
    if (!s)
        s = cast(&o, p->request.kind, err);
    if (!s)
        s = compile(&o, p->request.ninputs, err);
    if (!s)
        s = run(&o, p, step, err);
    for (uint32_t k = 0; k < o.calls.count && !s; k++)
        s = hand_out(&o, &o.calls.items[k], each, each_ctx, err);
    observation_fini(&o);
    return s;
}
