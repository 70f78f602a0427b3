/* plan_service.c - tutti.plan/1: how much a batch multiplies, where its results lie, the graph of the model. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/released.h"
#include "train/step/plan_step.h"
#include "train/step/step_services.h"
#include "train/step/trainer_state.h"

static double flops(void *ctx)
{
    return ((const trainer *)ctx)->plans.flops;
}

static bool trains(const trainer *t)
{
    return t->tensors.phase == PHASE_BATCH || t->tensors.phase == PHASE_MICROBATCH;
}

/* The microbatch's. */
static tutti_status find_plan(trainer *t, const plan **ret, tutti_error *err)
{
    plan_request request;
    plan *p = NULL;
    if (!trains(t) || !t->tensors.micro.samples)
        return tutti_fail(err, TUTTI_E_STATE,
                          "a plan can be had between before_forward and batch_end only");
    tutti_status s = trainer_request(t, PLAN_TRAIN, &t->tensors.micro, &request, err);
    if (!s)
        s = net_plan(t->run.net, &request, &p, err);
    if (!s)
        *ret = p;
    return s;
}

static tutti_status describe(void *ctx, tutti_plan_facts *ret_facts, tutti_error *err)
{
    trainer *t = ctx;
    const program *q = t->plans.refused;
    const plan *p = NULL;
    t->plans.described = NULL;
    const tutti_status s = q ? TUTTI_OK : find_plan(t, &p, err);
    if (s)
        return s;
    if (p)
        q = plan_program(p);
    const tutti_plan_facts facts = {.struct_size = sizeof facts,
                                    .results = program_nplaces(q),
                                    .steps = program_nsteps(q) + 1,
                                    .values = p ? plan_nvalues(p) : 0,
                                    .arena_bytes = program_bytes(q),
                                    .peak_bytes = program_peak(q)};
    t->plans.described = q;
    t->plans.valued = p;
    return RELEASED_GIVE(tutti_plan_facts, ret_facts, &facts, err);
}

static tutti_status check_described(const trainer *t, tutti_error *err)
{
    if (t->plans.described && (trains(t) || t->plans.refused))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_STATE, "no plan was described in this batch");
}

static tutti_status result(void *ctx, uint32_t k, tutti_planned *ret_result, tutti_error *err)
{
    const trainer *t = ctx;
    const program *q = t->plans.described;
    const tutti_status s = check_described(t, err);
    if (s)
        return s;
    if (k >= program_nplaces(q))
        return tutti_fail(err, TUTTI_E_RANGE, "there is no place %u, the arena has %u", k,
                          program_nplaces(q));
    const program_place at = program_place_at(q, k);
    const tutti_planned one = {.struct_size = sizeof one,
                               .op = at.op,
                               .module = at.scope,
                               .bytes = at.bytes,
                               .offset = at.offset,
                               .first = at.first,
                               .last = at.last};
    return RELEASED_GIVE(tutti_planned, ret_result, &one, err);
}

static tutti_status value(void *ctx, uint32_t k, tutti_planned_value *ret_value,
                          tutti_error *err)
{
    const trainer *t = ctx;
    tutti_planned_value one;
    const tutti_status s = check_described(t, err);
    if (s)
        return s;
    const uint32_t n = t->plans.valued ? plan_nvalues(t->plans.valued) : 0;
    if (k < 1 || k > n)
        return tutti_fail(err, TUTTI_E_RANGE, "there is no value %u, the graph has %u", k, n);
    plan_value(t->plans.valued, k, &one);
    return RELEASED_GIVE(tutti_planned_value, ret_value, &one, err);
}

void plan_service_init(tutti_plan_v1 *s, trainer *t)
{
    *s = (tutti_plan_v1){.struct_size = sizeof *s,
                         .ctx = t,
                         .flops = flops,
                         .describe = describe,
                         .result = result,
                         .value = value};
}
