/* plan.c - running a plan: where its inputs and results lie, its segments, a second loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/plan_internal.h"
#include "graph/plan/plan_workspace.h"
#include "graph/runtime/host_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The place that the caller gave, or one of the plan's own, taken now. */
static const void *bound_or_own(const tutti_device *device, const void *bound, void **own,
                                const tutti_desc *d)
{
    if (!bound && !*own)
        *own = device_alloc(device, tutti_nbytes(d));
    return bound ? bound : *own;
}

tutti_tensor plan_input(plan *p, uint32_t k)
{
    model_graph *b = p->model_graph;
    const void *data =
        bound_or_own(b->compiled.device, b->input[k], &b->own_input[k], &b->input_desc[k]);
    return (tutti_tensor){(void *)(uintptr_t)data, b->input_desc[k],
                          device_number(b->compiled.device), 0};
}

tutti_tensor plan_target(plan *p, uint32_t k)
{
    loss_graph *h = &p->loss_graph;
    const tutti_desc *d = &p->request.targets[k];
    const void *data = bound_or_own(h->compiled.device, h->target[k], &h->own_target[k], d);
    return (tutti_tensor){(void *)(uintptr_t)data, *d, device_number(h->compiled.device), 0};
}

void plan_set_input(plan *p, uint32_t k, const void *data)
{
    p->model_graph->input[k] = data;
}

void plan_set_target(plan *p, uint32_t k, const void *data)
{
    p->loss_graph.target[k] = data;
}

bool plan_assigns(const plan *p, uint32_t k)
{
    const graph *g = p->model_graph->compiled.g;
    for (uint32_t j = 0; j < graph_nassigns(g); j++)
        if (graph_assign_at(g, j).weight == p->n->tree.order[k]->id)
            return true;
    return false;
}

uint32_t plan_gradient_step(const plan *p, int64_t first, int64_t count)
{
    const compiled_graph *c = &p->model_graph->compiled;
    float *weights, *gradients;
    int64_t n;
    if (p->loss_graph.penalty)
        return UINT32_MAX;
    net_arena(p->n, &weights, &gradients, &n);
    return program_last_use(c->program, gradients + first, (uint64_t)count * sizeof(float));
}

program_use plan_weight_use(const plan *p, int32_t segment, int64_t first, int64_t count)
{
    float *weights, *gradients;
    int64_t n;
    net_arena(p->n, &weights, &gradients, &n);
    return program_uses(p->model_graph->compiled.program, segment, weights + first,
                        (uint64_t)count * sizeof(float));
}

uint64_t plan_shape(const plan *p)
{
    return p->hash;
}

bool plan_uses_weights_here(const plan *p)
{
    return !p->loss_graph.penalty && device_is_host(p->model_graph->compiled.device);
}

bool plan_has_penalty(const plan *p)
{
    return p->loss_graph.penalty != NULL;
}

void plan_reach(plan *p, void (*reached)(void *ctx, int32_t segment, uint32_t step), void *ctx)
{
    program_reach(p->model_graph->compiled.program, reached, ctx);
}

void net_observe(net *n, const program_observer *o)
{
    n->observer = o;
}

bool plan_has_run_backward(const plan *p)
{
    return program_has_run(p->model_graph->compiled.program);
}

void plan_watch_backward(plan *p, void (*passed)(void *ctx, uint32_t step), void *ctx,
                         const uint32_t *marks, uint32_t nmarks)
{
    program_watch(p->model_graph->compiled.program, passed, ctx, marks, nmarks);
}

int64_t plan_context(const plan *p)
{
    return p->model_graph->sequence ? p->model_graph->sequence->context : 0;
}

uint32_t plan_noutputs(const plan *p)
{
    return p->model_graph->noutputs;
}

static void bind_model(plan *p)
{
    program_set_arena(p->model_graph->compiled.program, p->n->compiled.plans->arena);
    for (uint32_t k = 0; k < p->model_graph->ninputs; k++)
        program_set_external(p->model_graph->compiled.program, k, plan_input(p, k).data);
}

/* Where output k lies, as it is kept. */
static void *kept_address(plan *p, uint32_t k)
{
    bind_model(p);
    return program_address(p->model_graph->compiled.program, p->model_graph->outputs[k]);
}

tutti_tensor plan_output(plan *p, uint32_t k)
{
    const model_graph *b = p->model_graph;
    const bool there = model_graph_output_is_kept(b, k) && !b->spends_outputs;
    return (tutti_tensor){there ? kept_address(p, k) : NULL, *model_graph_output_desc(b, k),
                          device_number(b->compiled.device), 0};
}

tutti_status plan_expand_output(plan *p, uint32_t k, const tutti_step *step,
                                tutti_tensor *ret_output, tutti_error *err)
{
    tutti_tensor t = plan_output(p, k);
    tutti_status s = TUTTI_OK;
    if (p->model_graph->spends_outputs)
        return tutti_fail(err, TUTTI_E_STATE,
                          "the outputs of this step are gone: their gradients lie where they "
                          "lay, since nobody was to look at them");
    if (!t.data)
        s = output_copy_run(p->n, p->model_graph, k, kept_address(p, k), step, &t.data, err);
    if (!s)
        *ret_output = t;
    return s;
}

tutti_tensor plan_loss(plan *p)
{
    return (tutti_tensor){p->loss_graph.loss_data, p->loss_graph.loss,
                          device_number(p->loss_graph.compiled.device), 0};
}

static void *dout_address(const plan *p, uint32_t k)
{
    const model_graph *b = p->model_graph;
    return b->douts[k] ? program_address(b->compiled.program, b->douts[k]) : NULL;
}

/* What the loss is multiplied by, where the loss graph reads it; NAN: it is there. */
static tutti_status set_scale(plan *p, float scale, tutti_error *err)
{
    loss_graph *h = &p->loss_graph;
    if (isnan(scale) || (h->scale_set && h->scale_now == scale)) {
        h->scale_set = h->scale_set && !isnan(scale);
        return TUTTI_OK;
    }
    const tutti_status s = device_copy(h->compiled.device, h->scale, &scale, sizeof scale,
                                       TUTTI_COPY_TO_DEVICE, err);
    h->scale_now = scale;
    h->scale_set = !s;
    return s;
}

float *plan_scale(plan *p)
{
    return p->loss_graph.scale;
}

/* Runs the loss graph with its results going to `loss` and dout[0..noutputs). */
static tutti_status run_loss(plan *p, const tutti_step *step, void *loss, void *const *dout,
                             tutti_error *err)
{
    loss_graph *h = &p->loss_graph;
    program *q = h->compiled.program;
    uint32_t at = 0;
    bind_model(p);
    program_set_arena(q, h->compiled.arena
                             ? h->compiled.arena
                             : p->n->compiled.plans->arena +
                                   program_cut_offset(p->model_graph->compiled.program));
    for (uint32_t k = 0; k < p->model_graph->noutputs; k++)
        program_set_external(q, at++, kept_address(p, k));
    for (uint32_t k = 0; k < p->request.ntargets; k++)
        program_set_external(q, at++, plan_target(p, k).data);
    program_set_external(q, at++, h->scale);
    program_set_external(q, at++, loss);
    for (uint32_t k = 0; k < p->model_graph->noutputs; k++)
        program_set_external(q, at++, dout[k]);
    const tutti_status s = compiled_graph_run(p->n, &h->compiled, 0, step, err);
    return s || !model_graph_trains(p->model_graph)
               ? s
               : compiled_graph_run(p->n, &h->compiled, 1, step, err);
}

/* What `segment` needs before it runs. */
static tutti_status prepare(plan *p, int segment, const tutti_step *step, float loss_scale,
                            tutti_error *err)
{
    if (segment < SEGMENT_FORWARD || segment > SEGMENT_BACKWARD)
        return tutti_fail(err, TUTTI_E_ARG, "there is no segment %d", segment);
    if (segment == SEGMENT_BACKWARD && !model_graph_trains(p->model_graph))
        return tutti_fail(err, TUTTI_E_STATE, "this plan has no backward pass");
    /* A larger plan may have failed to get its arena after the old one was given up. */
    tutti_status s = net_fill_weights(p->n, err);
    if (!s)
        s = plan_set_fit_arena(p->n, program_bytes(p->model_graph->compiled.program), err);
    if (!s && segment == SEGMENT_FORWARD)
        return half_weights_refresh(p->n, step, err);
    return s || segment != SEGMENT_LOSS || !p->loss_graph.compiled.program
               ? s
               : set_scale(p, loss_scale, err);
}

static tutti_status run_penalty(plan *p, int32_t segment, const tutti_step *step,
                                tutti_error *err)
{
    const void *places[2 * TUTTI_MAX_COLUMNS + 3];
    uint32_t n = 0;
    for (uint32_t k = 0; k < p->request.ninputs; k++)
        places[n++] = plan_input(p, k).data;
    for (uint32_t k = 0; k < p->request.ntargets; k++)
        places[n++] = plan_target(p, k).data;
    places[n++] = p->loss_graph.scale;
    places[n++] = p->loss_graph.loss_data;
    places[n++] = p->loss_graph.loss_data;
    return penalty_run(p->n, p->loss_graph.penalty, places, segment, step, err);
}

static tutti_status run_segment(plan *p, int segment, const tutti_step *step, tutti_error *err)
{
    void *dout[NET_MAX_OUTPUTS];
    if (segment == SEGMENT_LOSS && !p->loss_graph.compiled.program)
        return TUTTI_OK;
    bind_model(p);
    tutti_status s = TUTTI_OK;
    if (segment == SEGMENT_LOSS) {
        for (uint32_t k = 0; k < p->model_graph->noutputs; k++)
            dout[k] = dout_address(p, k);
        s = run_loss(p, step, p->loss_graph.loss_data, dout, err);
    } else {
        s = compiled_graph_run(p->n, &p->model_graph->compiled, segment == SEGMENT_BACKWARD,
                               step, err);
    }
    return s || segment == SEGMENT_FORWARD || !p->loss_graph.penalty
               ? s
               : run_penalty(p, segment == SEGMENT_BACKWARD, step, err);
}

tutti_status plan_run(plan *p, int segment, const tutti_step *step, float loss_scale,
                      tutti_error *err)
{
    const tutti_status s = prepare(p, segment, step, loss_scale, err);
    return s ? s : run_segment(p, segment, step, err);
}

tutti_status plan_run_part(plan *p, int segment, uint32_t *at, const tutti_step *step,
                           program_pause *ret_pause, tutti_error *err)
{
    const tutti_status s = *at ? TUTTI_OK : prepare(p, segment, step, 1.0f, err);
    if (s)
        return s;
    bind_model(p);
    program_observe(p->model_graph->compiled.program, p->n->observer);
    return program_run_part(p->model_graph->compiled.program, segment == SEGMENT_BACKWARD, at,
                            step, ret_pause, err);
}

tutti_status plan_find_unsound(plan *p, const tutti_step *step, const char **ret_scope,
                               const char **ret_op, tutti_error *err)
{
    const tutti_status s = prepare(p, SEGMENT_FORWARD, step, 1.0f, err);
    if (s)
        return s;
    bind_model(p);
    return program_find_unsound(p->model_graph->compiled.program, step, ret_scope, ret_op, err);
}

/* ---- segments as one ---- */

enum { MERGED_PLACES = 2 * TUTTI_MAX_COLUMNS + 4 + PLAN_TAIL_PLACES };

typedef struct merged_work {
    plan *plan;
    int first;
    int last;
    const plan_tail *tail;
    const tutti_step *step;
} merged_work;

static tutti_status run_merged(void *ctx, tutti_error *err)
{
    const merged_work *w = ctx;
    tutti_status s = TUTTI_OK;
    for (int segment = w->first; segment <= w->last && !s; segment++)
        s = run_segment(w->plan, segment, w->step, err);
    return s || !w->tail ? s : w->tail->run(w->tail->ctx, err);
}

/* What the work of these segments depends on; how many places there are. */
static uint32_t list_places(merged_work *w, const void **places)
{
    plan *p = w->plan;
    uint32_t n = 0;
    places[n++] = p->n->compiled.plans->arena;
    for (uint32_t k = 0; k < p->model_graph->ninputs; k++)
        places[n++] = plan_input(p, k).data;
    for (uint32_t k = 0; k < p->request.ntargets; k++)
        places[n++] = plan_target(p, k).data;
    places[n++] = (const void *)(uintptr_t)w->first;
    places[n++] = (const void *)(uintptr_t)w->last;
    places[n++] = (const void *)(uintptr_t)(w->tail != NULL);
    for (uint32_t k = 0; w->tail && k < w->tail->nplaces; k++)
        places[n++] = w->tail->places[k];
    return n;
}

tutti_status plan_run_merged(plan *p, int first, int last, const plan_tail *tail,
                             const tutti_step *step, float loss_scale, tutti_error *err)
{
    merged_work work = {p, first, last, tail, step};
    const tutti_device *d = p->n->options.device;
    const void *places[MERGED_PLACES];
    tutti_status s = TUTTI_OK;
    for (int segment = first; segment <= last && !s; segment++)
        s = prepare(p, segment, step, loss_scale, err);
    if (s || !capture_is_supported(d) || plan_watches_sums(p)) /* no graph spans a sum */
        return s ? s : run_merged(&work, err);
    const uint32_t n = list_places(&work, places);
    p->n->merging = true;
    p->loss_graph.merged.log = p->n->captures;
    s = capture_run(&p->loss_graph.merged, d, places, n, step, run_merged, &work, err);
    p->n->merging = false;
    return s;
}

/* a = (1 - share) a + share b */
static tutti_status blend(plan *p, float *a, const float *b, double fraction,
                          const tutti_desc *d, const tutti_step *step, tutti_error *err)
{
    const float fractions[2] = {(float)(1.0 - fraction), (float)fraction};
    if (!device_is_host(p->loss_graph.compiled.device))
        return loss_blend_run(p->n, &p->loss_graph.blends, fractions, a, b, d, step, err);
    for (int64_t k = 0, n = tutti_numel(d); k < n; k++)
        a[k] = fractions[0] * a[k] + fractions[1] * b[k];
    return TUTTI_OK;
}

/* Memory for a second loss and second gradients of the outputs. */
static tutti_status take_mix(plan *p, tutti_error *err)
{
    loss_graph *h = &p->loss_graph;
    if (!h->blend_loss)
        h->blend_loss = device_alloc(h->compiled.device, tutti_nbytes(&h->loss));
    bool there = h->blend_loss != NULL;
    for (uint32_t k = 0; k < p->model_graph->noutputs; k++) {
        if (!h->blend_dout[k])
            h->blend_dout[k] = device_alloc(
                h->compiled.device, tutti_nbytes(model_graph_output_desc(p->model_graph, k)));
        there = there && h->blend_dout[k];
    }
    return there ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a second loss");
}

tutti_status plan_blend_loss(plan *p, const tutti_tensor *target, double fraction,
                             const tutti_step *step, float loss_scale, tutti_error *err)
{
    plan *other;
    void *dout[NET_MAX_OUTPUTS];
    plan_request request = p->request;
    if (!p->loss_graph.compiled.program || !model_graph_trains(p->model_graph))
        return tutti_fail(err, TUTTI_E_STATE, "only a training plan's loss can be mixed");
    if (p->request.half_outputs || p->request.spends_outputs)
        return tutti_fail(err, TUTTI_E_STATE,
                          "a loss can be mixed where forward and backward pass run apart");
    if (p->loss_graph.penalty)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "a loss with a penalty on its gradients cannot be mixed");
    request.targets[0] = target->desc;
    tutti_status s = net_plan(p->n, &request, &other, err);
    if (!s)
        s = take_mix(other, err);
    if (s)
        return s;
    const void *kept = other->loss_graph.target[0];
    for (uint32_t k = 1; k < request.ntargets && other != p; k++)
        plan_set_target(other, k, plan_target(p, k).data);
    const bool is_there = target->device == device_number(p->loss_graph.compiled.device);
    if (!is_there || (uintptr_t)target->data % MEMORY_ALIGN) {
        plan_set_target(other, 0, NULL);
        const tutti_tensor own = plan_target(other, 0);
        if (!own.data)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a second target");
        s = device_copy(p->loss_graph.compiled.device, own.data, target->data,
                        tutti_nbytes(&target->desc),
                        is_there ? TUTTI_COPY_ON_DEVICE : TUTTI_COPY_TO_DEVICE, err);
        if (s)
            return s;
    } else {
        plan_set_target(other, 0, target->data);
    }
    for (uint32_t k = 0; k < p->model_graph->noutputs; k++)
        dout[k] = other->loss_graph.blend_dout[k];
    s = set_scale(other, loss_scale, err);
    if (!s && isnan(loss_scale) && other != p)
        s = device_copy(p->loss_graph.compiled.device, other->loss_graph.scale,
                        p->loss_graph.scale, sizeof(float), TUTTI_COPY_ON_DEVICE, err);
    if (!s)
        s = run_loss(other, step, other->loss_graph.blend_loss, dout, err);
    plan_set_target(other, 0, kept);
    if (s)
        return s;
    s = blend(p, p->loss_graph.loss_data, other->loss_graph.blend_loss, fraction,
              &p->loss_graph.loss, step, err);
    for (uint32_t k = 0; k < p->model_graph->noutputs && !s; k++)
        if (dout_address(p, k))
            s = blend(p, dout_address(p, k), dout[k], fraction,
                      model_graph_output_desc(p->model_graph, k), step, err);
    return s;
}

const program *plan_program(const plan *p)
{
    return p->model_graph->compiled.program;
}

uint32_t plan_nsteps(const plan *p, int segment)
{
    const program *loss = p->loss_graph.compiled.program;
    if (segment == SEGMENT_LOSS)
        return loss ? program_nsteps(loss) : 0;
    return program_nsteps_of(p->model_graph->compiled.program, segment == SEGMENT_BACKWARD);
}

bool plan_output_is_spent(const plan *p, uint32_t k)
{
    return p->model_graph->spent[k];
}

double plan_flops(const plan *p)
{
    return graph_flops(p->model_graph->compiled.g) +
           (p->loss_graph.compiled.g ? graph_flops(p->loss_graph.compiled.g) : 0.0);
}
