/* plan.c - running a plan: where its inputs and results lie, its segments, a second loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/memory.h"
#include "graph/net_internal.h"

#include <stdlib.h>
#include <string.h>

/* The place that the caller gave, or one of the plan's own, taken now. */
static const void *given_or_own(const tutti_device *device, const void *given, void **own,
                                const tutti_desc *d)
{
    if (!given && !*own)
        *own = place_take(device, tutti_nbytes(d));
    return given ? given : *own;
}

tutti_tensor plan_input(plan *p, uint32_t k)
{
    body *b = p->body;
    const void *data =
        given_or_own(b->device, b->input[k], &b->own_input[k], &b->input_desc[k]);
    return (tutti_tensor){(void *)(uintptr_t)data, b->input_desc[k], place_number(b->device),
                          0};
}

tutti_tensor plan_target(plan *p, uint32_t k)
{
    head *h = &p->head;
    const tutti_desc *d = &p->request.targets[k];
    const void *data = given_or_own(h->device, h->target[k], &h->own_target[k], d);
    return (tutti_tensor){(void *)(uintptr_t)data, *d, place_number(h->device), 0};
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

tutti_tensor plan_output(plan *p, uint32_t k)
{
    const body *b = p->body;
    bind_body(p);
    return (tutti_tensor){program_address(b->program, b->outputs[k]), *body_output_desc(b, k),
                          place_number(b->device), 0};
}

tutti_tensor plan_loss(plan *p)
{
    return (tutti_tensor){p->head.loss_data, p->head.loss, place_number(p->head.device), 0};
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
    tutti_status s = TUTTI_OK;
    if (!h->scale_set || h->scale_now != loss_scale)
        s = place_copy(h->device, h->scale, &loss_scale, sizeof loss_scale,
                       TUTTI_COPY_TO_DEVICE, err);
    if (s)
        return s;
    h->scale_now = loss_scale;
    h->scale_set = true;
    program_set_external(q, at++, h->scale);
    program_set_external(q, at++, loss);
    for (uint32_t k = 0; k < p->body->noutputs; k++)
        program_set_external(q, at++, dout[k]);
    s = program_run(q, 0, step, err);
    return s || !body_trains(p->body) ? s : program_run(q, 1, step, err);
}

tutti_status plan_run(plan *p, int segment, const tutti_step *step, float loss_scale,
                      tutti_error *err)
{
    void *dout[NET_MAX_OUTPUTS];
    /* A larger plan may have failed to get its arena after the old one was given up. */
    const tutti_status s = plans_fit_arena(p->n, program_bytes(p->body->program), err);
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
static tutti_status blend(plan *p, float *a, const float *b, double share, const tutti_desc *d,
                          const tutti_step *step, tutti_error *err)
{
    const float shares[2] = {(float)(1.0 - share), (float)share};
    if (!place_is_host(p->head.device))
        return mixer_run(p->n, &p->head.mixers, shares, a, b, d, step, err);
    for (int64_t k = 0, n = tutti_numel(d); k < n; k++)
        a[k] = shares[0] * a[k] + shares[1] * b[k];
    return TUTTI_OK;
}

/* Memory for a second loss and second gradients of the outputs. */
static tutti_status take_mix(plan *p, tutti_error *err)
{
    head *h = &p->head;
    if (!h->mix_loss)
        h->mix_loss = place_take(h->device, tutti_nbytes(&h->loss));
    bool there = h->mix_loss != NULL;
    for (uint32_t k = 0; k < p->body->noutputs; k++) {
        if (!h->mix_dout[k])
            h->mix_dout[k] = place_take(h->device, tutti_nbytes(body_output_desc(p->body, k)));
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
    const bool is_there = target->device == place_number(p->head.device);
    if (!is_there || (uintptr_t)target->data % MEMORY_ALIGN) {
        plan_set_target(other, 0, NULL);
        const tutti_tensor own = plan_target(other, 0);
        if (!own.data)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a second target");
        s = place_copy(p->head.device, own.data, target->data, tutti_nbytes(&target->desc),
                       is_there ? TUTTI_COPY_ON_DEVICE : TUTTI_COPY_TO_DEVICE, err);
        if (s)
            return s;
    } else {
        plan_set_target(other, 0, target->data);
    }
    for (uint32_t k = 0; k < p->body->noutputs; k++)
        dout[k] = other->head.mix_dout[k];
    s = run_head(other, step, loss_scale, other->head.mix_loss, dout, err);
    plan_set_target(other, 0, kept);
    if (s)
        return s;
    s = blend(p, p->head.loss_data, other->head.mix_loss, share, &p->head.loss, step, err);
    for (uint32_t k = 0; k < p->body->noutputs && !s; k++)
        if (dout_address(p, k))
            s = blend(p, dout_address(p, k), dout[k], share, body_output_desc(p->body, k), step,
                      err);
    return s;
}

double plan_flops(const plan *p)
{
    return graph_flops(p->body->g) + (p->head.g ? graph_flops(p->head.g) : 0.0);
}
