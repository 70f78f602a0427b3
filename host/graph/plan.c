/* plan.c - the cache of plans, their memory, and running them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/memory.h"
#include "graph/net_internal.h"

#include <stdlib.h>
#include <string.h>

static bool same_descs(const tutti_desc *a, const tutti_desc *b, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (!tutti_same_shape(&a[k], &b[k]) || a[k].dtype != b[k].dtype)
            return false;
    return true;
}

static body *find_body(const net *n, const plan_request *r)
{
    for (body *b = n->bodies; b; b = b->next)
        if (b->kind == r->kind && b->ninputs == r->ninputs &&
            same_descs(b->input_desc, r->inputs, r->ninputs))
            return b;
    return NULL;
}

static plan *find_plan(const net *n, const plan_request *r)
{
    for (plan *p = n->plans; p; p = p->next)
        if (p->request.kind == r->kind && p->request.ninputs == r->ninputs &&
            p->request.ntargets == r->ntargets &&
            same_descs(p->request.inputs, r->inputs, r->ninputs) &&
            same_descs(p->request.targets, r->targets, r->ntargets))
            return p;
    return NULL;
}

void plans_drop(net *n)
{
    while (n->plans) {
        plan *next = n->plans->next;
        head_fini(&n->plans->head);
        free(n->plans);
        n->plans = next;
    }
    while (n->bodies) {
        body *next = n->bodies->next;
        body_destroy(n->bodies);
        n->bodies = next;
    }
}

static uint64_t inputs_bytes(const plan_request *r)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < r->ninputs; k++)
        sum += memory_round(tutti_nbytes(&r->inputs[k]));
    for (uint32_t k = 0; k < r->ntargets; k++)
        sum += memory_round(tutti_nbytes(&r->targets[k]));
    return sum;
}

/* What the head needs beyond the room that the body keeps for it. */
static uint64_t head_extra(const body *b, const head *h)
{
    const uint64_t bytes = h->program ? program_bytes(h->program) : 0;
    return bytes > b->cut_bytes ? bytes : 0;
}

static uint64_t needed_bytes(const body *b, const head *h, const plan_request *r)
{
    return program_bytes(b->program) + head_extra(b, h) + inputs_bytes(r) +
           (h->penalty ? penalty_bytes(h->penalty) : 0);
}

static tutti_status check_memory(const net *n, const body *b, const head *h,
                                 const plan_request *r, tutti_error *err)
{
    static const char *const kinds[] = {"training", "accumulating", "sample loss",
                                        "evaluation"};
    const uint64_t need = needed_bytes(b, h, r);
    uint64_t have = n->memory_limit;
    char shape[96], a[32], c[32];
    if (!have) {
        have = memory_available();
        have = have > UINT64_MAX - n->arena_bytes ? have : have + n->arena_bytes;
    }
    if (need <= have)
        return TUTTI_OK;
    return tutti_fail(
        err, TUTTI_E_NOMEM,
        "the %s plan for inputs of %s needs %s, %s are available; use a smaller %s",
        kinds[r->kind],
        r->ninputs ? tutti_desc_text(&r->inputs[0], shape, sizeof shape) : "none",
        memory_text(need, a, sizeof a), memory_text(have, c, sizeof c),
        r->kind == PLAN_EVAL ? "batch_size" : "microbatch_size");
}

/* One arena serves all plans; its contents need not outlive a change of shapes. */
static tutti_status fit_arena(net *n, uint64_t bytes, tutti_error *err)
{
    if (n->arena && bytes <= n->arena_bytes)
        return TUTTI_OK;
    free(n->arena);
    n->arena_bytes = 0;
    n->arena = memory_take(bytes);
    if (!n->arena)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for an arena of %llu bytes",
                          (unsigned long long)bytes);
    n->arena_bytes = bytes;
    return TUTTI_OK;
}

static tutti_status check_request(const net *n, const plan_request *r, tutti_error *err)
{
    if (n->nmodules < 2)
        return tutti_fail(err, TUTTI_E_STATE, "there is no model to plan for");
    if (n->changed)
        return tutti_fail(err, TUTTI_E_STATE, "%s: the tree has changed since the last commit",
                          n->model.kind);
    if (r->kind < PLAN_TRAIN || r->kind > PLAN_EVAL || r->ninputs > TUTTI_MAX_COLUMNS ||
        r->ntargets > TUTTI_MAX_COLUMNS)
        return tutti_fail(err, TUTTI_E_ARG, "%s: this is no valid request for a plan",
                          n->model.kind);
    if (r->kind != PLAN_EVAL && !r->ntargets)
        return tutti_fail(err, TUTTI_E_ARG, "%s: a plan with a loss needs targets",
                          n->model.kind);
    if (n->model.table->noutputs > NET_MAX_OUTPUTS)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: %u outputs, at most %d are possible",
                          n->model.kind, n->model.table->noutputs, NET_MAX_OUTPUTS);
    return TUTTI_OK;
}

/* Traces, compiles and finds room for `p`, whose request is set. */
static tutti_status build_plan(net *n, plan *p, tutti_error *err)
{
    body *fresh = NULL;
    body *b = find_body(n, &p->request);
    tutti_status s = TUTTI_OK;
    if (!b) {
        s = body_create(n, &p->request, &fresh, err);
        b = fresh;
    }
    if (!s)
        s = head_init(n, b, &p->request, &p->head, err);
    if (!s && fresh)
        s = body_compile(n, b, p->head.program ? program_bytes(p->head.program) : 0, err);
    if (!s)
        s = check_memory(n, b, &p->head, &p->request, err);
    if (!s && fresh)
        s = fit_arena(n, program_bytes(b->program), err);
    if (!s && head_extra(b, &p->head)) {
        p->head.own_arena = memory_take(program_bytes(p->head.program));
        if (!p->head.own_arena)
            s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for the loss");
    }
    if (s) {
        head_fini(&p->head);
        body_destroy(fresh);
        return s;
    }
    if (fresh) {
        fresh->next = n->bodies;
        n->bodies = fresh;
    }
    p->body = b;
    return TUTTI_OK;
}

tutti_status net_plan(net *n, const plan_request *request, plan **ret_plan, tutti_error *err)
{
    tutti_status s = check_request(n, request, err);
    if (s)
        return s;
    plan *p = find_plan(n, request);
    if (!p) {
        p = calloc(1, sizeof *p);
        if (!p)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
        p->n = n;
        p->request = *request;
        s = build_plan(n, p, err);
        if (s) {
            free(p);
            return s;
        }
        p->next = n->plans;
        n->plans = p;
    }
    *ret_plan = p;
    return TUTTI_OK;
}

/* The place that the caller gave, or one of the plan's own, taken now. */
static const void *given_or_own(const void *given, void **own, const tutti_desc *d)
{
    if (!given && !*own)
        *own = memory_take(tutti_nbytes(d));
    return given ? given : *own;
}

tutti_tensor plan_input(plan *p, uint32_t k)
{
    body *b = p->body;
    const void *data = given_or_own(b->input[k], &b->own_input[k], &b->input_desc[k]);
    return (tutti_tensor){(void *)(uintptr_t)data, b->input_desc[k], TUTTI_DEVICE_CPU, 0};
}

tutti_tensor plan_target(plan *p, uint32_t k)
{
    head *h = &p->head;
    const tutti_desc *d = &p->request.targets[k];
    const void *data = given_or_own(h->target[k], &h->own_target[k], d);
    return (tutti_tensor){(void *)(uintptr_t)data, *d, TUTTI_DEVICE_CPU, 0};
}

void plan_set_input(plan *p, uint32_t k, const void *data)
{
    p->body->input[k] = data;
}

void plan_set_target(plan *p, uint32_t k, const void *data)
{
    p->head.target[k] = data;
}

uint32_t plan_noutputs(const plan *p)
{
    return p->body->noutputs;
}

static void bind_body(plan *p)
{
    program_set_arena(p->body->program, p->n->arena);
    for (uint32_t k = 0; k < p->body->ninputs; k++)
        program_set_external(p->body->program, k, plan_input(p, k).data);
}

static const tutti_desc *output_desc(const body *b, uint32_t k)
{
    return &graph_value_at(b->g, b->outputs[k])->desc;
}

tutti_tensor plan_output(plan *p, uint32_t k)
{
    const body *b = p->body;
    bind_body(p);
    return (tutti_tensor){program_address(b->program, b->outputs[k]), *output_desc(b, k),
                          TUTTI_DEVICE_CPU, 0};
}

tutti_tensor plan_loss(plan *p)
{
    return (tutti_tensor){p->head.loss_data, p->head.loss, TUTTI_DEVICE_CPU, 0};
}

static void *dout_address(const plan *p, uint32_t k)
{
    const body *b = p->body;
    return b->douts[k] ? program_address(b->program, b->douts[k]) : NULL;
}

/* Runs the head with its results going to `loss` and dout[0..noutputs). */
static tutti_status run_head(plan *p, const tutti_step *step, float loss_scale, void *loss,
                             void *const *dout, tutti_error *err)
{
    head *h = &p->head;
    program *q = h->program;
    uint32_t at = 0;
    bind_body(p);
    program_set_arena(q, h->own_arena ? h->own_arena
                                      : p->n->arena + program_cut_offset(p->body->program));
    for (uint32_t k = 0; k < p->body->noutputs; k++)
        program_set_external(q, at++, plan_output(p, k).data);
    for (uint32_t k = 0; k < p->request.ntargets; k++)
        program_set_external(q, at++, plan_target(p, k).data);
    h->scale[0] = loss_scale;
    program_set_external(q, at++, h->scale);
    program_set_external(q, at++, loss);
    for (uint32_t k = 0; k < p->body->noutputs; k++)
        program_set_external(q, at++, dout[k]);
    const tutti_status s = program_run(q, 0, step, err);
    return s || !body_trains(p->body) ? s : program_run(q, 1, step, err);
}

tutti_status plan_run(plan *p, int segment, const tutti_step *step, float loss_scale,
                      tutti_error *err)
{
    void *dout[NET_MAX_OUTPUTS];
    /* A larger plan may have failed to get its arena after the old one was given up. */
    const tutti_status s = fit_arena(p->n, program_bytes(p->body->program), err);
    if (s)
        return s;
    if (segment == SEGMENT_LOSS) {
        if (!p->head.program)
            return TUTTI_OK;
        bind_body(p);
        for (uint32_t k = 0; k < p->body->noutputs; k++)
            dout[k] = dout_address(p, k);
        const tutti_status done = run_head(p, step, loss_scale, p->head.loss_data, dout, err);
        return done || !p->head.penalty ? done : penalty_run(p, 0, step, loss_scale, err);
    }
    if (segment != SEGMENT_FORWARD && segment != SEGMENT_BACKWARD)
        return tutti_fail(err, TUTTI_E_ARG, "there is no segment %d", segment);
    if (segment == SEGMENT_BACKWARD && !body_trains(p->body))
        return tutti_fail(err, TUTTI_E_STATE, "this plan has no backward pass");
    bind_body(p);
    const tutti_status done =
        program_run(p->body->program, segment == SEGMENT_BACKWARD, step, err);
    return done || segment == SEGMENT_FORWARD || !p->head.penalty
               ? done
               : penalty_run(p, 1, step, loss_scale, err);
}

/* a = (1 - share) a + share b */
static void blend(float *a, const float *b, double share, int64_t n)
{
    const float keep = (float)(1.0 - share), take = (float)share;
    for (int64_t k = 0; k < n; k++)
        a[k] = keep * a[k] + take * b[k];
}

/* Memory for a second loss and second gradients of the outputs. */
static tutti_status take_mix(plan *p, tutti_error *err)
{
    head *h = &p->head;
    if (!h->mix_loss)
        h->mix_loss = memory_take(tutti_nbytes(&h->loss));
    bool there = h->mix_loss != NULL;
    for (uint32_t k = 0; k < p->body->noutputs; k++) {
        if (!h->mix_dout[k])
            h->mix_dout[k] = memory_take(tutti_nbytes(output_desc(p->body, k)));
        there = there && h->mix_dout[k];
    }
    return there ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a second loss");
}

tutti_status plan_mix_loss(plan *p, const tutti_tensor *target, double share,
                           const tutti_step *step, float loss_scale, tutti_error *err)
{
    plan *other;
    void *dout[NET_MAX_OUTPUTS];
    plan_request request = p->request;
    if (!p->head.program || !body_trains(p->body))
        return tutti_fail(err, TUTTI_E_STATE, "only a training plan's loss can be mixed");
    if (p->head.penalty)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "a loss with a penalty on its gradients cannot be mixed");
    request.targets[0] = target->desc;
    tutti_status s = net_plan(p->n, &request, &other, err);
    if (!s)
        s = take_mix(other, err);
    if (s)
        return s;
    const void *kept = other->head.target[0];
    for (uint32_t k = 1; k < request.ntargets && other != p; k++)
        plan_set_target(other, k, plan_target(p, k).data);
    if ((uintptr_t)target->data % MEMORY_ALIGN) {
        plan_set_target(other, 0, NULL);
        const tutti_tensor own = plan_target(other, 0);
        if (!own.data)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a second target");
        memcpy(own.data, target->data, tutti_nbytes(&target->desc));
    } else {
        plan_set_target(other, 0, target->data);
    }
    for (uint32_t k = 0; k < p->body->noutputs; k++)
        dout[k] = other->head.mix_dout[k];
    s = run_head(other, step, loss_scale, other->head.mix_loss, dout, err);
    plan_set_target(other, 0, kept);
    if (s)
        return s;
    blend(p->head.loss_data, other->head.mix_loss, share, tutti_numel(&p->head.loss));
    for (uint32_t k = 0; k < p->body->noutputs; k++)
        if (dout_address(p, k))
            blend(dout_address(p, k), dout[k], share, tutti_numel(output_desc(p->body, k)));
    return TUTTI_OK;
}

uint64_t plan_bytes(const plan *p)
{
    return needed_bytes(p->body, &p->head, &p->request);
}

double plan_flops(const plan *p)
{
    return graph_flops(p->body->g) + (p->head.g ? graph_flops(p->head.g) : 0.0);
}
