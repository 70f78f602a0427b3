/* toy_model.h - a net out of a trace function and a list of weights, for the tests of the graph. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOY_MODEL_H
#define TOY_MODEL_H

#include "graph/plan/plan_internal.h"
#include "graph/plan/plan_reference.h"
#include "graph/surgery/surgery.h"
#include "tutti/ops.h"
#include "tutti_check.h"

typedef struct toy_weight {
    const char *name;
    tutti_desc desc;
    tutti_init init;
    uint32_t flags;
} toy_weight;

/* What the model's `self` is. */
typedef struct toy_model {
    const toy_weight *weights; /* up to a name of NULL, all at the root */
    void (*children)(const tutti_module_v1 *s, tutti_module root); /* may be NULL */
    tutti_value (*trace)(tutti_graph *g, tutti_module root, const tutti_value *x);
    tutti_value (*loss)(tutti_graph *g, tutti_value y, tutti_value target); /* (B) */
    const tutti_module_v1 *service;
} toy_model;

static tutti_status toy_build(void *self, tutti_module m, const tutti_column *columns,
                              uint32_t ncolumns, tutti_error *err)
{
    const toy_model *t = self;
    for (const toy_weight *w = t->weights; w && w->name; w++) {
        const tutti_status s =
            t->service->weight(t->service->ctx, m, w->name, &w->desc, &w->init, w->flags, err);
        if (s)
            return s;
    }
    if (t->children)
        t->children(t->service, m);
    return TUTTI_OK;
}

static tutti_status toy_trace(void *self, tutti_graph *g, tutti_module m,
                              const tutti_value *inputs, uint32_t ninputs, tutti_value *outputs,
                              uint32_t noutputs)
{
    const toy_model *t = self;
    outputs[0] = t->trace(g, m, inputs);
    return g->status(g);
}

static tutti_value toy_loss(void *self, tutti_graph *g, const tutti_value *outputs,
                            uint32_t noutputs, const tutti_value *targets, uint32_t ntargets,
                            int32_t reduction)
{
    const toy_model *t = self;
    const tutti_value each = t->loss(g, outputs[0], targets[0]);
    return reduction == TUTTI_REDUCTION_MEAN ? tutti_reduce(g, "mean", each, NULL, 0, 0) : each;
}

static const char *const toy_inputs[] = {"input", NULL}, *const toy_targets[] = {"target",
                                                                                 NULL};
static const tutti_model_v1 toy_table = {.struct_size = sizeof toy_table,
                                         .noutputs = 1,
                                         .inputs = toy_inputs,
                                         .targets = toy_targets,
                                         .build = toy_build,
                                         .trace = toy_trace,
                                         .loss = toy_loss};

static inline tutti_desc toy_desc(int32_t dtype, int32_t rank, int64_t a, int64_t b, int64_t c,
                                  int64_t d)
{
    return (tutti_desc){
        {rank > 0 ? a : 0, rank > 1 ? b : 0, rank > 2 ? c : 0, rank > 3 ? d : 0}, rank, dtype};
}

static inline net *toy_net(const tutti_op *const *ops, toy_model *model)
{
    tutti_error err = TUTTI_ERROR_INIT;
    net *n;
    const net_options options = {.ops = ops, .seed = 17, .threads = 2};
    ck_assert_ok(net_create(&options, &n, &err), err);
    model->service = net_modules(n);
    const model_impl impl = {&toy_table, model, NULL, "toy", NULL};
    ck_assert_ok(net_build_model(n, &impl, NULL, 0, &err), err);
    ck_assert_ok(net_commit(n, &err), err);
    return n;
}

static inline plan *toy_plan(net *n, int kind, tutti_desc input, tutti_desc target)
{
    tutti_error err = TUTTI_ERROR_INIT;
    plan *p;
    const plan_request r = {
        .kind = kind, .ninputs = 1, .ntargets = 1, .inputs = {input}, .targets = {target}};
    ck_assert_ok(net_plan(n, &r, &p, &err), err);
    return p;
}

static inline void toy_fill(tutti_tensor t, uint64_t key)
{
    ck_assert_ptr_nonnull(t.data);
    for (int64_t k = 0; k < tutti_numel(&t.desc); k++) {
        const double u = (double)((key * 7919u + (uint64_t)k * 104729u) % 10007u) / 10007.0;
        const float x = (float)(2.0 * u - 1.0);
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (t.desc.dtype == TUTTI_F32)
            ((float *)t.data)[k] = x;
        else if (t.desc.dtype == TUTTI_I32)
            ((int32_t *)t.data)[k] = (int32_t)(u * 3.0);
        else if (t.desc.dtype == TUTTI_BF16)
            ((uint16_t *)t.data)[k] = (uint16_t)(bits >> 16);
    }
}

static const tutti_step toy_step = {sizeof toy_step, 0, 17, 0, 0};

static inline void toy_run(plan *p, float scale)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &toy_step, scale, &err), err);
    ck_assert_ok(plan_run(p, SEGMENT_LOSS, &toy_step, scale, &err), err);
    if (p->request.kind == PLAN_TRAIN || p->request.kind == PLAN_TRAIN_ADD)
        ck_assert_ok(plan_run(p, SEGMENT_BACKWARD, &toy_step, scale, &err), err);
}

/* Norm-relative distance of n numbers. */
static inline double toy_distance(const float *got, const double *want, int64_t n)
{
    double worst = 0.0, scale = 1e-3;
    for (int64_t k = 0; k < n; k++) {
        scale = fmax(scale, fabs(want[k]));
        const double e = fabs((double)got[k] - want[k]);
        worst = isnan(e) || e > worst ? e : worst;
        if (isnan(e))
            return INFINITY;
    }
    return worst / scale;
}

/* Runs `p` by its kernels and by the interpreter and compares all that comes out. */
static inline void toy_compare(plan *p, float scale, double tolerance)
{
    tutti_error err = TUTTI_ERROR_INIT;
    plan_numbers want;
    net *n = p->n;
    float *weights, *grads;
    int64_t count, at = 0;
    ck_assert_ok(plan_reference(p, &toy_step, scale, &want, &err), err);
    toy_run(p, scale);
    const tutti_tensor y = plan_output(p, 0), loss = plan_loss(p);
    if (!p->request.spends_outputs)
        ck_assert_close(toy_distance(y.data, want.outputs, tutti_numel(&y.desc)), 0.0,
                        tolerance);
    ck_assert_close(toy_distance(loss.data, want.loss, tutti_numel(&loss.desc)), 0.0,
                    tolerance);
    net_arena(n, &weights, &grads, &count);
    for (uint32_t k = 0; k < net_weight_count(n); k++) {
        const tutti_weight *w = net_weight(n, k);
        const int64_t size = tutti_numel(&w->data.desc);
        if (want.grads && w->grad) {
            const double e = toy_distance(w->grad, want.grads + net_offset(n, k), size);
            ck_assert_msg(e <= tolerance, "gradient of %s is off by %g", w->path, e);
        }
        if (net_offset(n, k) >= 0)
            continue;
        const double e = toy_distance(w->data.data, want.assigned + at, size);
        ck_assert_msg(e <= tolerance, "buffer %s is off by %g", w->path, e);
        at += size;
    }
    plan_numbers_fini(&want);
}

/* Nothing that is alive at the same time shares memory. */
static inline void toy_check_arena(const plan *p)
{
    uint32_t n, a = 0, b = 0;
    const arena_interval *map = program_intervals(p->model_graph->compiled.program, &n);
    ck_assert_msg(!arena_overlap(map, n, &a, &b), "intervals %u and %u overlap", a, b);
    for (uint32_t k = 0; k < n; k++) {
        ck_assert_uint_eq(map[k].offset % 64, 0);
        ck_assert_uint_le(map[k].offset + map[k].bytes,
                          program_bytes(p->model_graph->compiled.program));
    }
}

#endif
