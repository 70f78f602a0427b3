/* net_test.c - the graph core's models on any device: plans, surgery, and supervised training. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/net_model.h"
#include "device_check.h"
#include "graph/surgery/surgery.h"
#include "op_table.h"
#include "toy_model.h"

#include <stdio.h>

enum { B = 6, IN = 8, WIDTH = 32, CLASSES = 3, HOST = -1 };

/* Dropout, a constant, a buffer that counts runs, and a block that a run may skip. */
static tutti_value trace(tutti_graph *g, tutti_module m, const tutti_value *x)
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
    const tutti_value more = tutti_op1(g, "tanh", h);
    g->unguard(g, before);
    const tutti_value runs = g->weight(g, m, "runs");
    g->assign(g, runs, tutti_affine(g, runs, 1.0, 1.0));
    return tutti_matmul(g, tutti_add(g, h, more), g->weight(g, m, "w1"), 0, 0, 1);
}

/* The same without what the host has to look at. */
static tutti_value trace_plain(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const tutti_value h = tutti_relu(
        g, tutti_matmul(g, x[0], g->weight(g, m, "w0"), g->weight(g, m, "b0"), 0, 1));
    return tutti_matmul(g, h, g->weight(g, m, "w1"), 0, 0, 1);
}

typedef struct rig {
    backend backend;
    net *net;
    toy_model model;
    toy_weight weights[6];
} rig;

static const tutti_device *device_of(const rig *r)
{
    return r->backend.device.table ? &r->backend.device : NULL;
}

static rig *open_rig(int kind, bool plain, double keep)
{
    rig *r = calloc(1, sizeof *r);
    const tutti_init some = {TUTTI_INIT_NORMAL, 0, 0.0, 0.5, 0.0, NULL};
    const tutti_init kept = {TUTTI_INIT_CONSTANT, 0, keep, 0.0, 0.0, NULL};
    const tutti_desc number = toy_desc(TUTTI_F32, 0, 0, 0, 0, 0);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ptr_nonnull(r);
    if (kind != HOST)
        r->backend = open_kind(kind);
    r->weights[0] = (toy_weight){"w0", toy_desc(TUTTI_F32, 2, WIDTH, IN, 0, 0), some,
                                 TUTTI_WEIGHT_TRAINABLE};
    r->weights[1] = (toy_weight){"b0", toy_desc(TUTTI_F32, 1, WIDTH, 0, 0, 0), some,
                                 TUTTI_WEIGHT_TRAINABLE};
    r->weights[2] = (toy_weight){"w1", toy_desc(TUTTI_F32, 2, CLASSES, WIDTH, 0, 0), some,
                                 TUTTI_WEIGHT_TRAINABLE};
    r->weights[3] = (toy_weight){"keep", number, kept, 0};
    r->weights[4] = (toy_weight){"runs", number, kept, 0};
    r->model = (toy_model){.weights = r->weights,
                           .trace = plain ? trace_plain : trace,
                           .loss = tutti_softmax_cross_entropy};
    const net_options options = {
        .ops = tutti_op_table, .seed = 17, .threads = 2, .device = device_of(r)};
    ck_assert_ok(net_create(&options, &r->net, &err), err);
    r->model.service = net_modules(r->net);
    const model_impl impl = {&toy_table, &r->model, NULL, "toy", NULL};
    ck_assert_ok(net_build_model(r->net, &impl, NULL, 0, &err), err);
    ck_assert_ok(net_commit(r->net, &err), err);
    return r;
}

static void close_rig(rig *r)
{
    net_destroy(r->net);
    if (device_of(r)) {
        tutti_error err = TUTTI_ERROR_INIT;
        ck_assert_ok(r->backend.device.table->synchronise(r->backend.device.device, NULL, &err),
                     err);
        close_kind(&r->backend);
    }
    free(r);
}

/* `n` numbers of wherever `r` lives. */
static float *fetch(const rig *r, const void *from, int64_t n)
{
    float *to = malloc((size_t)n * sizeof *to + 1);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ptr_nonnull(to);
    ck_assert_ok(device_copy(device_of(r), to, from, (uint64_t)n * sizeof *to,
                             TUTTI_COPY_FROM_DEVICE, &err),
                 err);
    return to;
}

static void same(const rig *a, const void *x, const rig *b, const void *y, int64_t n,
                 const char *what)
{
    float *p = fetch(a, x, n), *q = fetch(b, y, n);
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        sum += fabs((double)p[k]);
        ck_assert_msg(p[k] == q[k], "%s: number %lld is %g, want %g", what, (long long)k,
                      (double)q[k], (double)p[k]);
    }
    ck_assert_msg(sum > 0, "%s: nothing but zeros", what);
    free(p);
    free(q);
}

static void same_nets(const rig *a, const rig *b)
{
    for (uint32_t k = 0; k < net_weight_count(a->net); k++) {
        const tutti_weight *x = net_weight(a->net, k), *y = net_weight(b->net, k);
        const int64_t n = tutti_numel(&x->data.desc);
        ck_assert_str_eq(x->path, y->path);
        if (strcmp(x->path, "keep") != 0)
            same(a, x->data.data, b, y->data.data, n, x->path);
        if (x->grad)
            same(a, x->grad, b, y->grad, n, "a gradient");
    }
}

static const tutti_desc x_desc = {{B, IN}, 2, TUTTI_F32}, y_desc = {{B}, 1, TUTTI_I32};

static void put(const rig *r, const tutti_tensor t, uint64_t key)
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

static plan *run_plan(const rig *r, int kind)
{
    plan *p = toy_plan(r->net, kind, x_desc, y_desc);
    put(r, plan_input(p, 0), 3);
    put(r, plan_target(p, 0), 4);
    toy_run(p, 0.5f);
    return p;
}

/* Row: backend, guard open or closed. */
START_TEST(a_plan_computes_on_every_device_what_it_computes_on_the_host)
{
    rig *a = open_rig(HOST, false, _i % 2), *b = open_rig(_i / 2, false, _i % 2);
    static const int kinds[] = {PLAN_TRAIN, PLAN_TRAIN_ADD, PLAN_EVAL};
    for (int k = 0; k < 3; k++) {
        plan *p = run_plan(a, kinds[k]), *q = run_plan(b, kinds[k]);
        same(a, plan_output(p, 0).data, b, plan_output(q, 0).data, B * CLASSES, "the output");
        same(a, plan_loss(p).data, b, plan_loss(q).data, 1, "the loss");
        same_nets(a, b);
    }
    if (_i / 2 != CPU)
        ck_assert_uint_gt(counts_of(&b->backend)->launches, 0);
    if (_i / 2 == PROMISING) /* groups */
        ck_assert_uint_gt(counts_of(&b->backend)->own_kernels, 0);
    if (_i / 2 == SHADOW_RELU) /* once in training and once in evaluation, at least */
        ck_assert_uint_gt(counts_of(&b->backend)->own_kernels, 2);
    close_rig(a);
    close_rig(b);
}
END_TEST

/* Steps of `p` that are operation `op`. */
static int steps_of(const plan *p, const char *op)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    int n = 0;
    plan_dump(p, file);
    (void)fclose(file);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char name[64];
        n += sscanf(line, "%*u %63s", name) == 1 && strcmp(name, op) == 0;
    }
    free(text);
    return n;
}

/* Row: a plan that begins with gradients, or adds to them. */
START_TEST(later_microbatches_add_to_gradients_where_the_products_are_made)
{
    const int kind = _i ? PLAN_TRAIN_ADD : PLAN_TRAIN;
    rig *a = open_rig(SHADOW, true, 1.0), *b = open_rig(PROMISING, true, 1.0);
    plan *p = run_plan(a, kind), *q = run_plan(b, kind);
    ck_assert_int_eq(steps_of(p, "matmul_add"), 0);
    ck_assert_int_eq(steps_of(q, "matmul_add"), _i ? 2 : 0); /* w0 and w1 */
    ck_assert_int_eq(steps_of(p, "matmul_relu"), 0);
    ck_assert_int_eq(steps_of(q, "matmul_relu"), 1);
    same_nets(a, b);
    close_rig(a);
    close_rig(b);
}
END_TEST

START_TEST(surgery_keeps_the_values_that_lie_on_a_device)
{
    rig *a = open_rig(HOST, false, 1.0), *b = open_rig(_i, false, 1.0);
    rig *both[] = {a, b};
    tutti_error err = TUTTI_ERROR_INIT;
    for (int k = 0; k < 2; k++) { /* frozen, w0 moves among the buffers */
        net *n = both[k]->net;
        int trained = 0;
        (void)run_plan(both[k], PLAN_TRAIN);
        n->tree.weights[0]->flags = 0;
        n->tree.changed = true;
        ck_assert_ok(net_commit(n, &err), err);
        for (uint32_t w = 0; w < net_weight_count(n); w++)
            trained += net_offset(n, w) >= 0;
        ck_assert_int_eq(trained, 2);
        (void)run_plan(both[k], PLAN_TRAIN);
    }
    same_nets(a, b);
    close_rig(a);
    close_rig(b);
}
END_TEST

/* The second target is the host's, the first one's values in another order. */
static void mix(rig *r, float *ret_loss)
{
    plan *p = run_plan(r, PLAN_TRAIN);
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor first = plan_target(p, 0);
    const uint64_t bytes = tutti_nbytes(&first.desc);
    char *second = calloc(1, bytes + 1);
    ck_assert_ok(device_copy(net_device(r->net), second, first.data, bytes,
                             TUTTI_COPY_FROM_DEVICE, &err),
                 err);
    for (uint64_t k = 0; k < bytes / 8; k++) {
        char one[4];
        memcpy(one, second + 4 * k, 4);
        memcpy(second + 4 * k, second + bytes - 4 * (k + 1), 4);
        memcpy(second + bytes - 4 * (k + 1), one, 4);
    }
    first.data = second;
    first.device = TUTTI_DEVICE_CPU;
    for (int k = 0; k < 2; k++) /* the second one finds all there */
        ck_assert_ok(plan_blend_loss(p, &first, 0.3, &toy_step, 1.0f, &err), err);
    ck_assert_ok(plan_run(p, SEGMENT_BACKWARD, &toy_step, 1.0f, &err), err);
    ck_assert_ok(device_copy(net_device(r->net), ret_loss, plan_loss(p).data, sizeof(float),
                             TUTTI_COPY_FROM_DEVICE, &err),
                 err);
    free(second);
}

START_TEST(a_loss_is_mixed_on_a_device_as_on_the_cpu)
{
    rig *a = open_rig(CPU, false, 1.0), *b = open_rig(SHADOW, false, 1.0);
    float here = 0, there = 1;
    mix(a, &here);
    mix(b, &there);
    ck_assert_mem_eq(&here, &there, sizeof here);
    same_nets(a, b);
    close_rig(a);
    close_rig(b);
}
END_TEST

START_TEST(a_kernel_that_fails_in_a_plan_is_told_when_the_host_looks)
{
    rig *r = open_rig(_i, true, 1.0);
    plan *p = toy_plan(r->net, PLAN_EVAL, x_desc, y_desc);
    const tutti_device *d = device_of(r);
    int32_t classes[B] = {0, 1, 2, 99, 0, 0};
    tutti_error err = TUTTI_ERROR_INIT;
    put(r, plan_input(p, 0), 3);
    ck_assert_ok(device_copy(d, plan_target(p, 0).data, classes, sizeof classes,
                             TUTTI_COPY_TO_DEVICE, &err),
                 err);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &toy_step, 1.0f, &err), err);
    tutti_status s = plan_run(p, SEGMENT_LOSS, &toy_step, 1.0f, &err);
    if (!s && !tutti_device_is_host(d))
        s = d->table->synchronise(d->device, NULL, &err);
    ck_assert_int_eq(s, TUTTI_E_RANGE);
    ck_assert_str_eq(err.text, _i == CPU
                                   ? "loss: cpu: kernel softmax_cross_entropy failed (E_RANGE)"
                                   : "shadow: kernel softmax_cross_entropy failed (E_RANGE)");
    close_rig(r);
}
END_TEST

START_TEST(an_operation_without_a_kernel_for_the_device_is_named)
{
    static const char *const none = "none";
    backend b = open_kind(CPU);
    rig r = {.backend = b};
    (void)snprintf(r.backend.device.info.kernels, sizeof r.backend.device.info.kernels, "%s",
                   none);
    rig *made = open_rig(HOST, true, 1.0);
    made->net->options.device = &r.backend.device;
    const plan_request request = {.kind = PLAN_EVAL, .ninputs = 1, .inputs = {x_desc}};
    plan *p;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(net_plan(made->net, &request, &p, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text, "matmul: device CPU has no kernel for it");
    made->net->options.device = NULL;
    close_rig(made);
    backend_close(&b);
}
END_TEST

/* ---- supervised training ---- */

/* Momentum with one slot. */
static void update(void *self, const tutti_update *u)
{
    for (int64_t k = 0; k < u->n; k++) {
        u->slot[0][k] = 0.9f * u->slot[0][k] + u->g[k];
        u->w[k] -= (float)u->lr / (float)u->step * u->slot[0][k];
    }
}

static const char *const slot_names[] = {"momentum", NULL};
static const tutti_optimizer_v1 optimizer = {.struct_size = sizeof optimizer,
                                             .nslots = 1,
                                             .slot_names = slot_names,
                                             .lr = 0.1,
                                             .update = update};

/* The same by numbers that lie on the device, as if a kernel did it. */
static tutti_status run_there(void *state, const tutti_op_call *c, const void *const *in,
                              void *const *out, void *scratch)
{
    const double *now = in[1];
    const tutti_update u = {.n = tutti_numel(&c->in[0]),
                            .w = out[0],
                            .g = in[0],
                            .slot = {out[1]},
                            .lr = now[TUTTI_UPDATE_LR],
                            .step = (int64_t)now[TUTTI_UPDATE_STEP]};
    ck_assert(now[TUTTI_UPDATE_FACTOR] == 1.0 && now[TUTTI_UPDATE_SKIP] == 0.0);
    update(NULL, &u);
    return TUTTI_OK;
}

static tutti_status update_on_device(void *self, const tutti_update *u, tutti_error *err)
{
    static tutti_desc descs[2];
    static tutti_op_call call;
    static const tutti_step step = {.struct_size = sizeof step};
    const tutti_device *d = self;
    const void *in[] = {u->g, u->numbers};
    void *out[] = {u->w, u->slot[0]};
    descs[0] = descs[1] = (tutti_desc){{u->n}, 1, TUTTI_F32};
    call = (tutti_op_call){.struct_size = sizeof call,
                           .nin = 2,
                           .nout = 2,
                           .threads = 1,
                           .in = descs,
                           .out = descs,
                           .step = &step};
    const tutti_launch l = {.struct_size = sizeof l,
                            .name = "momentum",
                            .run = run_there,
                            .call = &call,
                            .in = in,
                            .out = out};
    return d->table->launch(d->device, NULL, &l, err);
}

static const tutti_optimizer_v1 optimizer_there = {.struct_size = sizeof optimizer_there,
                                                   .nslots = 1,
                                                   .slot_names = slot_names,
                                                   .lr = 0.1,
                                                   .update = update,
                                                   .update_on_device = update_on_device,
                                                   .reads_numbers = 1};

enum { BATCHES = 3 };
static float xs[BATCHES][B * IN];
static int32_t ys[BATCHES][B];

static tutti_status next(void *ctx, void **ret_batch, tutti_error *err)
{
    static tutti_tensor tensors[2];
    static void *pair[2] = {&tensors[0], &tensors[1]};
    const int k = (*(int *)ctx)++ % BATCHES;
    tensors[0] = (tutti_tensor){xs[k], x_desc, TUTTI_DEVICE_CPU, 0};
    tensors[1] = (tutti_tensor){ys[k], y_desc, TUTTI_DEVICE_CPU, 0};
    toy_fill(tensors[0], (uint64_t)k);
    toy_fill(tensors[1], (uint64_t)k + 10);
    *ret_batch = pair;
    return TUTTI_OK;
}

static void run_loop(tutti_supervised *s, int64_t n)
{
    int at = 0;
    const tutti_loop_data data = {.ctx = &at, .next = next};
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    tutti_error err = TUTTI_ERROR_INIT;
    args.data = &data;
    args.epoch_length = n;
    ck_assert_ok(tutti_loop_run(tutti_supervised_loop(s), &args, &err), err);
}

static net_model *model_with(const rig *r, const tutti_optimizer_v1 *o)
{
    const net_model_options options = {.net = r->net,
                                       .optimizer = o,
                                       .optimizer_self = (void *)(uintptr_t)device_of(r),
                                       .target = {{0}, 0, TUTTI_I32},
                                       .seed = 17};
    net_model *m = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(net_model_create(&options, &m, &err), err);
    return m;
}

START_TEST(an_optimizer_of_whole_weights_is_refused)
{
    tutti_optimizer_v1 whole = optimizer;
    const net_model_options options = {.optimizer = &whole};
    net_model *m = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    whole.by_weight = 1;
    ck_assert_int_eq(net_model_create(&options, &m, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_ptr_null(m);
    ck_assert_str_eq(err.text,
                     "the optimizer updates whole weights, which a model of a program's own "
                     "does not give it; want one that goes element by element");
}
END_TEST

static net_model *model_for(const rig *r)
{
    return model_with(r, &optimizer);
}

static double train(const rig *r, int32_t step, int64_t accumulation, int64_t n)
{
    net_model *m = model_for(r);
    const tutti_supervised_model calls = net_model_calls(m);
    tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
    tutti_supervised *s = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    o.device = device_of(r);
    o.step = step;
    o.loss_scale = step == TUTTI_STEP_APEX ? 8.0 : 0.0;
    o.accumulation = accumulation;
    ck_assert_ok(tutti_supervised_trainer(&calls, &o, &s, &err), err);
    run_loop(s, n);
    const double loss = *(double *)tutti_loop_get_state(tutti_supervised_loop(s))->output;
    tutti_supervised_destroy(s);
    net_model_destroy(m);
    return loss;
}

/* Row: backend, accumulation 1 or 2. */
START_TEST(the_accelerators_step_trains_the_graph_cores_model)
{
    const int k = 1 + _i % 2, n = 5;
    rig *a = open_rig(HOST, true, 1.0), *b = open_rig(_i / 2, true, 1.0);
    const double want = train(a, TUTTI_STEP_PLAIN, k, n);
    ck_assert_close(train(b, TUTTI_STEP_ACCELERATOR, k, n), want, 0.0);
    ck_assert(want > 0.0);
    if (_i / 2 == SHADOW) {
        const shadow_counts *c = counts_of(&b->backend);
        ck_assert_uint_eq(c->steps, (uint64_t)(n / k));
        /* Plans that end wait once each; a step never does, but for its loss at its end. */
        ck_assert_uint_eq(c->from_device, (uint64_t)n);
    }
    same_nets(a, b);
    close_rig(a);
    close_rig(b);
}
END_TEST

/* Trains with both; after the first update no code of the host's runs on the second one's device. */
START_TEST(weights_are_updated_through_the_host_where_its_code_cannot_run)
{
    rig *rigs[2] = {open_rig(HOST, true, 1.0), open_rig(_i, true, 1.0)};
    for (int k = 0; k < 2; k++) {
        net_model *m = model_for(rigs[k]);
        const tutti_supervised_model calls = net_model_calls(m);
        tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
        tutti_supervised *s = NULL;
        tutti_error err = TUTTI_ERROR_INIT;
        int finite = -1;
        o.device = device_of(rigs[k]);
        ck_assert_ok(tutti_supervised_trainer(&calls, &o, &s, &err), err);
        run_loop(s, 1);
        if (k)
            strcpy(rigs[k]->backend.device.info.kernels, "other");
        run_loop(s, 2);
        ck_assert_ok(calls.scale_gradients(m, 0.5, &finite, &err), err);
        ck_assert_int_eq(finite, 1);
        tutti_supervised_destroy(s);
        net_model_destroy(m);
    }
    same_nets(rigs[0], rigs[1]);
    close_rig(rigs[0]);
    close_rig(rigs[1]);
}
END_TEST

/* What an optimizer does by its kernels does not touch the host, even where its code cannot run. */
START_TEST(weights_are_updated_by_the_optimizers_kernels)
{
    rig *rigs[2] = {open_rig(HOST, true, 1.0), open_rig(SHADOW, true, 1.0)};
    for (int k = 0; k < 2; k++) {
        net_model *m = model_with(rigs[k], &optimizer_there);
        const tutti_supervised_model calls = net_model_calls(m);
        tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
        tutti_supervised *s = NULL;
        tutti_error err = TUTTI_ERROR_INIT;
        o.device = device_of(rigs[k]);
        ck_assert_ok(tutti_supervised_trainer(&calls, &o, &s, &err), err);
        run_loop(s, 1);
        const uint64_t before = k ? counts_of(&rigs[k]->backend)->from_device : 0;
        if (k)
            strcpy(rigs[k]->backend.device.info.kernels, "other");
        run_loop(s, 4);
        if (k) /* the losses */
            ck_assert_uint_eq(counts_of(&rigs[k]->backend)->from_device, before + 4);
        tutti_supervised_destroy(s);
        net_model_destroy(m);
    }
    same_nets(rigs[0], rigs[1]);
    close_rig(rigs[0]);
    close_rig(rigs[1]);
}
END_TEST

START_TEST(a_loss_scale_leaves_the_weights_as_they_would_be)
{
    rig *a = open_rig(HOST, true, 1.0), *b = open_rig(HOST, true, 1.0);
    const double want = train(a, TUTTI_STEP_PLAIN, 2, 4);
    ck_assert_close(train(b, TUTTI_STEP_APEX, 2, 4), want, 0.0); /* a power of two */
    same_nets(a, b);
    close_rig(a);
    close_rig(b);
}
END_TEST

/* ---- an evaluator ---- */

static double sums[2];

static void reset(void *self)
{
    sums[0] = sums[1] = 0;
}

static tutti_status count_right(void *self, const tutti_metric_input *in, tutti_error *err)
{
    const float *y_pred = in->outputs[0].data;
    const int32_t *y = in->targets[0].data;
    for (int64_t k = 0; k < in->samples; k++) {
        const float *row = y_pred + k * CLASSES;
        int32_t best = 0;
        for (int32_t c = 1; c < CLASSES; c++)
            best = row[c] > row[best] ? c : best;
        sums[0] += best == y[k];
    }
    sums[1] += (double)in->samples;
    return TUTTI_OK;
}

static double compute(void *self)
{
    return sums[0] / sums[1];
}

static const tutti_metric_v1 accuracy = {.struct_size = sizeof accuracy,
                                         .nsums = 2,
                                         .sums = sums,
                                         .name = "accuracy",
                                         .reset = reset,
                                         .update = count_right,
                                         .compute = compute};

static double evaluate(const rig *r)
{
    net_model *m = model_for(r);
    const tutti_supervised_model calls = net_model_calls(m);
    const tutti_supervised_metric metric = {"accuracy", &accuracy, NULL};
    tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
    tutti_supervised *s = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    o.device = device_of(r);
    o.metrics = &metric;
    o.nmetrics = 1;
    ck_assert_ok(tutti_supervised_evaluator(&calls, &o, &s, &err), err);
    run_loop(s, BATCHES);
    const double value = tutti_loop_metric(tutti_supervised_loop(s), "accuracy");
    tutti_supervised_destroy(s);
    net_model_destroy(m);
    return value;
}

START_TEST(an_evaluator_over_the_graph_cores_model_knows_its_metrics)
{
    rig *a = open_rig(HOST, true, 1.0), *b = open_rig(_i, true, 1.0);
    (void)train(a, TUTTI_STEP_PLAIN, 1, 4);
    (void)train(b, TUTTI_STEP_PLAIN, 1, 4);
    const double want = evaluate(a);
    ck_assert(want > 0.0 && want <= 1.0);
    ck_assert_close(evaluate(b), want, 0.0);
    close_rig(a);
    close_rig(b);
}
END_TEST

static void end(void)
{
    registry_destroy(plugins);
}

int main(void)
{
    Suite *suite = suite_create("net");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, NULL, end);
    tcase_add_loop_test(tc, a_plan_computes_on_every_device_what_it_computes_on_the_host, 0,
                        2 * NKINDS);
    tcase_add_loop_test(tc, later_microbatches_add_to_gradients_where_the_products_are_made, 0,
                        2);
    tcase_add_loop_test(tc, surgery_keeps_the_values_that_lie_on_a_device, 0, NKINDS);
    tcase_add_test(tc, a_loss_is_mixed_on_a_device_as_on_the_cpu);
    tcase_add_loop_test(tc, a_kernel_that_fails_in_a_plan_is_told_when_the_host_looks, 0,
                        NKINDS);
    tcase_add_test(tc, an_operation_without_a_kernel_for_the_device_is_named);
    tcase_add_loop_test(tc, the_accelerators_step_trains_the_graph_cores_model, 0, 2 * NKINDS);
    tcase_add_loop_test(tc, weights_are_updated_through_the_host_where_its_code_cannot_run, 0,
                        NKINDS);
    tcase_add_test(tc, weights_are_updated_by_the_optimizers_kernels);
    tcase_add_test(tc, an_optimizer_of_whole_weights_is_refused);
    tcase_add_test(tc, a_loss_scale_leaves_the_weights_as_they_would_be);
    tcase_add_loop_test(tc, an_evaluator_over_the_graph_cores_model_knows_its_metrics, 0,
                        NKINDS);
    return tutti_run(suite);
}
