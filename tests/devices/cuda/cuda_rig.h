/* cuda_rig.h - a small net on the host or on the stand-in's GPU, for tests that compare the two. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_DEVICES_CUDA_RIG_H
#define TESTS_DEVICES_CUDA_RIG_H

#include "cuda_check.h"
#include "graph/surgery/surgery.h"
#include "op_table.h"
#include "toy_model.h"

enum { B = 6, IN = 8, WIDTH = 32, CLASSES = 3 };
/* Sums in another order, and maths of another library. */
static const double near = 1e-5;

/* Dropout, a constant, a buffer that counts runs, and a block that a run may skip. */
static inline tutti_value trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    float half[WIDTH];
    for (int k = 0; k < WIDTH; k++)
        half[k] = 0.5f * (float)k / WIDTH;
    const tutti_tensor constant = {half, {{WIDTH}, 1, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_attr p = tutti_attr_f("p", 0.25);
    tutti_value h = tutti_matmul(g, x[0], g->weight(g, m, "w0"), g->weight(g, m, "b0"), 0, 1);
    h = tutti_relu(g, tutti_add(g, tutti_affine(g, h, 1.5, 0.1), g->constant(g, &constant)));
    if (g->mode == TUTTI_MODE_TRAIN)
        h = g->emit(g, "dropout", &h, 1, &p, 1, NULL, 0);
    const tutti_value before = g->guard(g, g->weight(g, m, "keep"));
    tutti_value more = tutti_op1(g, "tanh", tutti_matmul(g, h, g->weight(g, m, "w2"), 0, 0, 1));
    more = tutti_op1(g, "tanh", tutti_matmul(g, more, g->weight(g, m, "w2"), 0, 0, 1));
    g->unguard(g, before);
    const tutti_value runs = g->weight(g, m, "runs");
    g->assign(g, runs, tutti_affine(g, runs, 1.0, 1.0));
    return tutti_matmul(g, tutti_add(g, h, more), g->weight(g, m, "w1"), 0, 0, 1);
}

typedef struct rig {
    tutti_device device; /* no table: the host */
    net *net;
    toy_model model;
    toy_weight weights[7];
} rig;

static const tutti_device *device_of(const rig *r)
{
    return r->device.table ? &r->device : NULL;
}

/* Settings of NULL: on the host. */
static inline rig *open_rig(const char *settings, double keep)
{
    rig *r = calloc(1, sizeof *r);
    const tutti_init some = {TUTTI_INIT_NORMAL, 0, 0.0, 0.5, 0.0, NULL};
    const tutti_init kept = {TUTTI_INIT_CONSTANT, 0, keep, 0.0, 0.0, NULL};
    const tutti_desc number = toy_desc(TUTTI_F32, 0, 0, 0, 0, 0);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ptr_nonnull(r);
    if (settings)
        r->device = open_cuda(settings);
    r->weights[0] = (toy_weight){"w0", toy_desc(TUTTI_F32, 2, WIDTH, IN, 0, 0), some,
                                 TUTTI_WEIGHT_TRAINABLE};
    r->weights[1] = (toy_weight){"b0", toy_desc(TUTTI_F32, 1, WIDTH, 0, 0, 0), some,
                                 TUTTI_WEIGHT_TRAINABLE};
    r->weights[2] = (toy_weight){"w1", toy_desc(TUTTI_F32, 2, CLASSES, WIDTH, 0, 0), some,
                                 TUTTI_WEIGHT_TRAINABLE};
    r->weights[3] = (toy_weight){"keep", number, kept, 0};
    r->weights[4] = (toy_weight){"runs", number, kept, 0};
    r->weights[5] = (toy_weight){"w2", toy_desc(TUTTI_F32, 2, WIDTH, WIDTH, 0, 0), some,
                                 TUTTI_WEIGHT_TRAINABLE};
    r->model =
        (toy_model){.weights = r->weights, .trace = trace, .loss = tutti_softmax_cross_entropy};
    const net_options options = {
        .ops = tutti_op_table, .seed = 17, .threads = 2, .device = device_of(r)};
    ck_assert_ok(net_create(&options, &r->net, &err), err);
    r->model.service = net_modules(r->net);
    const model_impl impl = {&toy_table, &r->model, NULL, "toy", NULL};
    ck_assert_ok(net_build_model(r->net, &impl, NULL, 0, &err), err);
    ck_assert_ok(net_commit(r->net, &err), err);
    return r;
}

static inline void close_rig(rig *r)
{
    net_destroy(r->net);
    if (device_of(r)) {
        wait_for(&r->device);
        close_cuda(&r->device);
    }
    free(r);
}

static inline void close_to(const rig *a, const void *x, const rig *b, const void *y, int64_t n,
                            const char *what)
{
    const uint64_t bytes = (uint64_t)n * sizeof(float);
    float *p = malloc(bytes + 1), *q = malloc(bytes + 1);
    double norm = 0, error = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert(p && q);
    ck_assert_ok(device_copy(device_of(a), p, x, bytes, TUTTI_COPY_FROM_DEVICE, &err), err);
    ck_assert_ok(device_copy(device_of(b), q, y, bytes, TUTTI_COPY_FROM_DEVICE, &err), err);
    for (int64_t k = 0; k < n; k++) {
        norm += (double)p[k] * (double)p[k];
        error += pow((double)p[k] - (double)q[k], 2.0);
    }
    ck_assert_msg(norm > 0 || strcmp(what, "w2's gradient") == 0, "%s: nothing but zeros",
                  what);
    ck_assert_msg(sqrt(error) <= near * sqrt(norm), "%s: off by %g of %g", what, sqrt(error),
                  sqrt(norm));
    free(p);
    free(q);
}

static inline void close_nets(const rig *a, const rig *b)
{
    for (uint32_t k = 0; k < net_weight_count(a->net); k++) {
        const tutti_weight *x = net_weight(a->net, k), *y = net_weight(b->net, k);
        const int64_t n = tutti_numel(&x->data.desc);
        ck_assert_str_eq(x->path, y->path);
        if (strcmp(x->path, "keep") != 0)
            close_to(a, x->data.data, b, y->data.data, n, x->path);
        if (x->grad)
            close_to(a, x->grad, b, y->grad, n,
                     strcmp(x->path, "w2") == 0 ? "w2's gradient" : "a gradient");
    }
}

static const tutti_desc x_desc = {{B, IN}, 2, TUTTI_F32}, y_desc = {{B}, 1, TUTTI_I32};

static inline void put(const rig *r, const tutti_tensor t, uint64_t key)
{
    tutti_tensor host = t;
    tutti_error err = TUTTI_ERROR_INIT;
    host.data = malloc(tutti_nbytes(&t.desc));
    toy_fill(host, key);
    ck_assert_int_eq(t.device, device_number(device_of(r)));
    ck_assert_ok(device_copy(device_of(r), t.data, host.data, tutti_nbytes(&t.desc),
                             TUTTI_COPY_TO_DEVICE, &err),
                 err);
    free(host.data);
}

/* Step k of them, with its own batch and step number. */
static inline plan *run_plan(const rig *r, int kind, uint64_t k)
{
    plan *p = toy_plan(r->net, kind, x_desc, y_desc);
    const tutti_step now = {sizeof now, 0, 17, k, 0};
    tutti_error err = TUTTI_ERROR_INIT;
    put(r, plan_input(p, 0), 3 + k);
    put(r, plan_target(p, 0), 4 + k);
    for (int segment = 0; segment < SEGMENT_COUNT; segment++)
        if (segment != SEGMENT_BACKWARD || kind != PLAN_EVAL)
            ck_assert_ok(plan_run(p, segment, &now, 0.5f, &err), err);
    return p;
}

#endif
