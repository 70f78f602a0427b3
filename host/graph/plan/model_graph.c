/* model_graph.c - tracing a plan: the forward pass with its backward pass. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/precision.h"
#include "graph/passes/across_slots.h"
#include "graph/passes/align_gemms.h"
#include "graph/passes/autocast.h"
#include "graph/passes/autodiff.h"
#include "graph/passes/fuse.h"
#include "graph/plan/plan_internal.h"
#include "graph/runtime/host_memory.h"

#include <stdlib.h>
#include <string.h>

bool model_graph_trains(const model_graph *b)
{
    return b->kind == PLAN_TRAIN || b->kind == PLAN_TRAIN_ADD;
}

static tutti_status out_of_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
}

/* Inputs -> outputs. */
static tutti_status trace_forward(net *n, model_graph *b)
{
    tutti_graph *t = graph_builder(b->compiled.g);
    b->noutputs = n->model.table->noutputs;
    for (uint32_t k = 0; k < b->ninputs; k++)
        b->inputs[k] = graph_input(b->compiled.g, &b->input_desc[k]);
    graph_set_segment(b->compiled.g, 0);
    if (b->sequence)
        (void)sequence_trace_model(n, b->sequence, b->compiled.g, b->inputs[b->ninputs - 1],
                                   b->inputs, b->ninputs - 1, b->outputs, b->noutputs);
    else
        (void)net_trace_model(n, t, b->inputs, b->ninputs, b->outputs, b->noutputs);
    for (uint32_t k = 0; k < b->noutputs && !t->status(t); k++)
        if (!b->outputs[k])
            (void)t->fail(t, TUTTI_E_FAIL, "trace left an output of the model empty");
    return t->status(t);
}

/* b->compiled.g becomes `to`, where map[v] is what value v was; map[0] is 0. */
static void adopt(const net *n, model_graph *b, graph *to, const tutti_value *map)
{
    for (uint32_t k = 0; k < b->ninputs; k++)
        b->inputs[k] = map[b->inputs[k]];
    for (uint32_t k = 0; k < b->noutputs; k++) {
        b->outputs[k] = map[b->outputs[k]];
        b->douts[k] = map[b->douts[k]];
    }
    for (uint32_t k = 0; k < n->tree.norder && b->grads; k++) {
        b->grads[k] = map[b->grads[k]];
        b->there[k] = map[b->there[k]];
    }
    sequence_adopt(b->sequence, map);
    graph_destroy(b->compiled.g);
    b->compiled.g = to;
}

typedef tutti_status fuse_pass(const graph *from, const bool *wanted, graph *to,
                               tutti_value *ret_map, tutti_error *err);

/* Puts what belongs together into one node each. */
static tutti_status fuse(net *n, model_graph *b, fuse_pass *pass, tutti_error *err)
{
    graph *to = net_graph(n, plan_mode(b->kind));
    bool *wanted = calloc(graph_nvalues(b->compiled.g), sizeof *wanted);
    tutti_value *map = calloc(graph_nvalues(b->compiled.g), sizeof *map);
    tutti_status s = TUTTI_OK;
    if (!to || !wanted || !map) {
        s = out_of_memory(err);
        goto done;
    }
    for (uint32_t k = 0; k < b->noutputs; k++)
        wanted[b->outputs[k]] = true;
    for (uint32_t k = 0; k < n->tree.norder && b->grads; k++)
        wanted[b->grads[k]] = true;
    for (uint32_t k = 0; k < graph_nassigns(b->compiled.g); k++)
        wanted[graph_assign_at(b->compiled.g, k).value] = true;
    sequence_want(b->sequence, wanted);
    s = pass(b->compiled.g, wanted, to, map, err);
    if (!s) {
        adopt(n, b, to, map);
        to = NULL;
    }
done:
    graph_destroy(to);
    free(wanted);
    free(map);
    return s;
}

static graph_autocast autocast_of(const net *n)
{
    return (graph_autocast){n->options.precision == NET_AMP_BF16   ? TUTTI_BF16
                            : n->options.precision == NET_AMP_FP16 ? TUTTI_F16
                                                                   : TUTTI_DTYPE_NONE,
                            half_weights_dtype(n) != TUTTI_DTYPE_NONE};
}

/* Brings in the precision.  What leaves the graph is f32; where a device multiplies in 16 bits it has been rounded to
 * them, as PyTorch's autocast does it. */
static tutti_status autocast_model(net *n, model_graph *b, tutti_error *err)
{
    const graph_autocast half = autocast_of(n);
    const bool rounds = device_can(n->options.device, TUTTI_DEVICE_HALVES);
    if (!half.dtype)
        return TUTTI_OK;
    graph *to = net_graph(n, plan_mode(b->kind));
    tutti_value *map = calloc(graph_nvalues(b->compiled.g), sizeof *map);
    tutti_status s =
        to && map ? autocast_graph(b->compiled.g, &half, to, map, err) : out_of_memory(err);
    for (uint32_t k = 0; k < b->noutputs && !s; k++) {
        const int32_t dtype = graph_value_at(b->compiled.g, b->outputs[k])->desc.dtype;
        tutti_value *v = &map[b->outputs[k]];
        *v = rounds ? graph_cast_rounded(to, *v, dtype) : graph_cast(to, *v, dtype);
    }
    if (!s)
        s = graph_error(to, err);
    if (!s) {
        adopt(n, b, to, map);
        to = NULL;
    }
    graph_destroy(to);
    free(map);
    if (!s && rounds)
        s = fuse(n, b, align_gemms, err);
    if (!s)
        graph_set_autocast(b->compiled.g, &half); /* for the backward pass */
    return s;
}

/* Outputs that nobody looks at stay as the product gave them. */
static void keep_outputs(model_graph *b)
{
    for (uint32_t k = 0; k < b->noutputs; k++) {
        b->output_desc[k] = *model_graph_kept_desc(b, k);
        if (b->half_outputs && model_graph_trains(b) &&
            device_can(b->compiled.device, TUTTI_DEVICE_HALVES))
            b->outputs[k] = align_gemms_look_through(b->compiled.g, b->outputs[k]);
    }
}

/* Some devices add gradients to those of earlier microbatches as they make them; elsewhere that is a
 * loop behind the graph. */
static bool adds_in_graph(const model_graph *b)
{
    return b->kind == PLAN_TRAIN_ADD && device_can(b->compiled.device, TUTTI_DEVICE_ADDS);
}

/* Gradients of the outputs -> gradients of every trainable weight, into b->grads. */
static tutti_status trace_backward(const net *n, model_graph *b, tutti_error *err)
{
    tutti_value *wrt = calloc((size_t)n->tree.norder + 1, sizeof *wrt);
    if (!wrt)
        return out_of_memory(err);
    for (tutti_value v = 1; v < graph_nvalues(b->compiled.g); v++) {
        const graph_value *value = graph_value_at(b->compiled.g, v);
        for (uint32_t k = 0; k < n->tree.norder && value->kind == VALUE_WEIGHT; k++)
            if (n->tree.order[k]->offset >= 0 && n->tree.order[k]->id == value->index)
                wrt[k] = v;
    }
    graph_set_segment(b->compiled.g, 1); /* of the model: the loss is not in this graph */
    for (uint32_t k = 0; k < b->noutputs; k++) {
        const tutti_desc d = graph_value_at(b->compiled.g, b->outputs[k])->desc;
        if (dtype_is_f8(d.dtype)) {
            free(wrt);
            return tutti_fail(
                err, TUTTI_E_UNSUPPORTED,
                "the model's output %u has 8 bits, of which no gradient is taken; "
                "want a cast to F32 behind it",
                k);
        }
        b->douts[k] = graph_is_floating(d.dtype) ? graph_input(b->compiled.g, &d) : 0;
    }
    for (uint32_t k = 0; k < n->tree.norder && adds_in_graph(b); k++)
        if (wrt[k])
            b->there[k] = graph_input(b->compiled.g, &n->tree.order[k]->desc);
    tutti_status s = graph_gradient_onto(b->compiled.g, b->outputs, b->douts, b->noutputs, wrt,
                                         b->there, n->tree.norder, b->grads);
    for (uint32_t k = 0; k < n->tree.norder; k++)
        if (!wrt[k] || b->grads[k] == b->there[k])
            b->grads[k] = 0;
    free(wrt);
    return s;
}

/* Assignments to buffers (the last one of each counts) and, for training, the gradients. */
static uint32_t list_stores(const net *n, const model_graph *b, program_store *stores)
{
    uint32_t count = 0;
    const uint32_t nassigns = graph_nassigns(b->compiled.g);
    for (uint32_t k = 0; k < nassigns; k++) {
        const graph_assign a = graph_assign_at(b->compiled.g, k);
        bool last = true;
        for (uint32_t j = k + 1; j < nassigns; j++)
            last = last && graph_assign_at(b->compiled.g, j).weight != a.weight;
        if (last)
            stores[count++] =
                (program_store){.value = a.value, .kind = STORE_WEIGHT, .index = a.weight};
    }
    for (uint32_t k = 0; k < n->tree.norder && model_graph_trains(b); k++)
        if (n->tree.order[k]->offset >= 0)
            stores[count++] = (program_store){.value = b->grads[k],
                                              .kind = STORE_MEMORY,
                                              .segment = 1,
                                              .add = b->kind == PLAN_TRAIN_ADD &&
                                                     !(b->grads[k] && b->there[k]),
                                              .before = b->grads[k] ? b->there[k] : 0,
                                              .memory = n->tree.order[k]->grad,
                                              .bytes = tutti_nbytes(&n->tree.order[k]->desc)};
    return count + sequence_list_stores(b->sequence, stores + count);
}

/* A graph that goes on with sequences takes their new tokens first, and where these stand last. */
static tutti_status begin_sequence(model_graph *b, const plan_request *r, tutti_error *err)
{
    const tutti_desc *tokens = &r->inputs[0];
    const tutti_desc *position = &r->inputs[r->ninputs ? r->ninputs - 1 : 0];
    if (r->ninputs < 2 || tokens->rank != 2 || position->rank != 1 ||
        position->dtype != TUTTI_I32 || position->dim[0] != tokens->dim[1] || r->context < 1)
        return tutti_fail(err, TUTTI_E_ARG,
                          "a plan that goes on takes tokens (B, T), positions I32 (T), and how "
                          "long sequences may become");
    b->sequence = sequence_trace_create(tokens->dim[1], r->context);
    return b->sequence ? TUTTI_OK : out_of_memory(err);
}

tutti_status model_graph_create(net *n, const plan_request *request, model_graph **ret_graph,
                                tutti_error *err)
{
    model_graph *b = calloc(1, sizeof *b);
    if (!b)
        return out_of_memory(err);
    b->kind = request->kind;
    b->half_outputs = request->half_outputs != 0;
    b->spends_outputs = request->spends_outputs != 0 && model_graph_trains(b);
    b->ninputs = request->ninputs;
    memcpy(b->input_desc, request->inputs, sizeof b->input_desc);
    tutti_status s = compiled_graph_begin(n, plan_mode(b->kind), "a plan", &b->compiled, err);
    if (!s && b->kind == PLAN_CONTINUE)
        s = begin_sequence(b, request, err);
    if (!s)
        s = trace_forward(n, b);
    if (s && b->compiled.g)
        (void)graph_error(b->compiled.g, err);
    if (!s && n->compiled.plans->across_slots && model_graph_trains(b))
        s = fuse(n, b, across_slots, err);
    if (!s)
        s = fuse(n, b, fuse_norms, err);
    if (!s)
        s = autocast_model(n, b, err);
    if (!s)
        keep_outputs(b);
    if (s)
        model_graph_destroy(b);
    else
        *ret_graph = b;
    return s;
}

static void *copy_of(const void *ctx, uint32_t id, int32_t dtype)
{
    const net *n = ctx;
    return dtype == half_weights_dtype(n) ? half_weights_address(n, id) : NULL;
}

tutti_status model_graph_compile(net *n, model_graph *b, int rematerialize, uint64_t cut_bytes,
                                 tutti_error *err)
{
    const tutti_device *d = n->options.device;
    b->grads = calloc((size_t)n->tree.norder + 1, sizeof *b->grads);
    b->there = calloc((size_t)n->tree.norder + 1, sizeof *b->there);
    program_store *stores = calloc((size_t)n->tree.norder + graph_nassigns(b->compiled.g) +
                                       sequence_count(b->sequence) + 1,
                                   sizeof *stores);
    tutti_status s = b->grads && b->there && stores ? TUTTI_OK : out_of_memory(err);
    if (!s && model_graph_trains(b))
        s = trace_backward(n, b, err);
    if (s)
        (void)graph_error(b->compiled.g, err);
    else
        s = fuse(n, b,
                 device_can(d, TUTTI_DEVICE_MASKS) ? fuse_epilogues_masked : fuse_epilogues,
                 err);
    if (!s && model_graph_trains(b))
        s = fuse(n, b, fuse_norm_grads, err);
    if (!s && model_graph_trains(b) && !d)
        s = fuse(n, b, fuse_relu_grads, err);
    if (!s && device_can(d, TUTTI_DEVICE_ADDS))
        s = fuse(n, b, fuse_accumulate, err);
    if (!s && device_can(d, TUTTI_DEVICE_SUMS))
        s = fuse(n, b, fuse_bias_grads, err);
    if (!s && device_can(d, TUTTI_DEVICE_HALF_RESULTS))
        s = fuse(n, b, fuse_casts, err);
    else if (!s && !d && autocast_of(n).dtype)
        s = fuse(n, b, fuse_casts_cpu, err);
    if (!s && model_graph_trains(b) && rematerialize != REMATERIALIZE_OFF)
        s = rematerialization_offer(b->compiled.g, b->outputs, b->noutputs, !n->options.device,
                                    err);
    if (s)
        goto done;
    b->cut_bytes = cut_bytes;
    program_spec spec = {.keep = b->outputs,
                         .nkeep = b->noutputs,
                         .held = b->douts,
                         .nheld = b->noutputs,
                         .spent = b->spent,
                         .stores = stores,
                         .nstores = list_stores(n, b, stores),
                         .copy = half_weights_exist(n) ? copy_of : NULL,
                         .copy_ctx = n,
                         .packs = model_graph_trains(b) ? &n->storage.packed.training
                                                        : &n->storage.packed.store,
                         .nexternal = b->ninputs,
                         .cut_bytes = cut_bytes,
                         .rematerialize = rematerialize};
    s = compiled_graph_compile(n, &b->compiled, &spec, err);
done:
    free(stores);
    return s;
}

void model_graph_destroy(model_graph *b)
{
    if (!b)
        return;
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++)
        device_free(b->compiled.device, b->own_input[k]);
    for (uint32_t k = 0; k < NET_MAX_OUTPUTS; k++)
        output_copy_destroy(b->copies[k]);
    compiled_graph_fini(&b->compiled);
    free(b->grads);
    free(b->there);
    sequence_trace_destroy(b->sequence);
    free(b);
}
