/* cuda_net_test.c - the graph core's models on a GPU: plans, graphs of segments, supervised training. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_check.h"
#include "device/net_model.h"
#include "op_table.h"
#include "toy_model.h"

enum { B = 6, IN = 8, WIDTH = 32, CLASSES = 3 };
/* Sums in another order, and maths of another library. */
static const double near = 1e-5;

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
static rig *open_rig(const char *settings, double keep)
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
    const model_impl impl = {&toy_table, &r->model, NULL, "toy"};
    ck_assert_ok(net_build_model(r->net, &impl, NULL, 0, &err), err);
    ck_assert_ok(net_commit(r->net, &err), err);
    return r;
}

static void close_rig(rig *r)
{
    net_destroy(r->net);
    if (device_of(r)) {
        wait_for(&r->device);
        close_cuda(&r->device);
    }
    free(r);
}

static void close_to(const rig *a, const void *x, const rig *b, const void *y, int64_t n,
                     const char *what)
{
    const uint64_t bytes = (uint64_t)n * sizeof(float);
    float *p = malloc(bytes + 1), *q = malloc(bytes + 1);
    double norm = 0, error = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert(p && q);
    ck_assert_ok(place_copy(device_of(a), p, x, bytes, TUTTI_COPY_FROM_DEVICE, &err), err);
    ck_assert_ok(place_copy(device_of(b), q, y, bytes, TUTTI_COPY_FROM_DEVICE, &err), err);
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

static void close_nets(const rig *a, const rig *b)
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

static void put(const rig *r, const tutti_tensor t, uint64_t key)
{
    tutti_tensor host = t;
    tutti_error err = TUTTI_ERROR_INIT;
    host.data = malloc(tutti_nbytes(&t.desc));
    toy_fill(host, key);
    ck_assert_int_eq(t.device, place_number(device_of(r)));
    ck_assert_ok(place_copy(device_of(r), t.data, host.data, tutti_nbytes(&t.desc),
                            TUTTI_COPY_TO_DEVICE, &err),
                 err);
    free(host.data);
}

/* Step k of them, with its own batch and step number. */
static plan *run_plan(const rig *r, int kind, uint64_t k)
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

/* Row: guard open or closed.  Five rounds: warm, warm, gathered and done again. */
START_TEST(a_plan_computes_on_a_gpu_what_it_computes_on_the_host)
{
    static const int kinds[] = {PLAN_TRAIN, PLAN_TRAIN_ADD, PLAN_EVAL};
    rig *a = open_rig(NULL, _i), *b = open_rig("leaks=1", _i);
    for (int k = 0; k < 3; k++) /* the arena is as large as it gets */
        (void)toy_plan(b->net, kinds[k], x_desc, y_desc);
    for (uint64_t round = 0; round < 5; round++)
        for (int k = 0; k < 3; k++) {
            plan *p = run_plan(a, kinds[k], round), *q = run_plan(b, kinds[k], round);
            close_to(a, plan_output(p, 0).data, b, plan_output(q, 0).data, B * CLASSES,
                     "the output");
            close_to(a, plan_loss(p).data, b, plan_loss(q).data, 1, "the loss");
            close_nets(a, b);
        }
    /* forward, loss, its gradient and backward in two plans, forward and loss in the third */
    ck_assert_int_eq(traced("instantiate"), 4 + 4 + 2);
    ck_assert_int_eq(traced("launch graph"), 3 * (4 + 4 + 2));
    close_rig(a);
    close_rig(b);
}
END_TEST

static void set_keep(const rig *r, float keep)
{
    tutti_error err = TUTTI_ERROR_INIT;
    for (uint32_t k = 0; k < net_weight_count(r->net); k++)
        if (strcmp(net_weight(r->net, k)->path, "keep") == 0)
            ck_assert_ok(place_copy(device_of(r), net_weight(r->net, k)->data.data, &keep,
                                    sizeof keep, TUTTI_COPY_TO_DEVICE, &err),
                         err);
}

/* Row: whether graphs can have blocks.  Where they cannot, the block runs in vain. */
START_TEST(one_graph_leaves_a_block_out_or_not_as_the_device_finds_its_guard)
{
    rig *a = open_rig(NULL, 1.0);
    rig *b = open_rig(_i ? "leaks=1" : "leaks=1,conditions=0", 1.0);
    for (uint64_t k = 0; k < 9; k++) {
        const float keep = k % 3 ? 1.0f : 0.0f;
        set_keep(a, keep);
        set_keep(b, keep);
        (void)run_plan(a, PLAN_TRAIN, k);
        (void)run_plan(b, PLAN_TRAIN, k);
        close_nets(a, b);
    }
    ck_assert_int_eq(traced("instantiate"), 4);
    ck_assert_int_eq(traced("launch graph"), 7 * 4);
    /* The block and its gradient, in each of seven rounds; the guard is 0 in two of them. */
    ck_assert_int_eq(traced("if condition"), _i ? 2 : 0);
    ck_assert_int_eq(traced("condition 1 was 0"), _i ? 2 : 0);
    ck_assert_int_eq(traced("condition 1 was 1"), _i ? 5 : 0);
    ck_assert_int_eq(traced("condition 2 was 0"), _i ? 2 : 0);
    close_rig(a);
    close_rig(b);
}
END_TEST

/* Adds one to a number in the device's memory, as an update would change weights. */
typedef struct counter {
    const rig *rig;
    float *sum;
    const float *one;
    int calls;
} counter;

static tutti_status count_one(void *ctx, tutti_error *err)
{
    counter *c = ctx;
    const tutti_device *d = &c->rig->device;
    c->calls++;
    return d->table->add(d->device, NULL, c->sum, c->one, 1, err);
}

/* Segments `first` to SEGMENT_BACKWARD of a step as one, those before by themselves. */
static void run_merged(const rig *r, int first, uint64_t k, counter *c)
{
    plan *p = toy_plan(r->net, PLAN_TRAIN, x_desc, y_desc);
    const tutti_step now = {sizeof now, 0, 17, k, 0};
    const plan_tail tail = {.run = count_one, .ctx = c, .places = {c->sum}, .nplaces = 1};
    tutti_error err = TUTTI_ERROR_INIT;
    put(r, plan_input(p, 0), 3 + k);
    put(r, plan_target(p, 0), 4 + k);
    for (int segment = 0; segment < first; segment++)
        ck_assert_ok(plan_run(p, segment, &now, 0.5f, &err), err);
    ck_assert_ok(plan_run_merged(p, first, SEGMENT_BACKWARD, &tail, &now, 0.5f, &err), err);
}

/* Row: the first of the segments that are one.  Two rounds warm, then what is left is one launch, with what
 * comes behind it. */
START_TEST(segments_as_one_are_one_graph_and_compute_the_same)
{
    enum { ROUNDS = 5 };
    static const int alone[] = {0, 1, 3}; /* graphs of the segments before */
    rig *a = open_rig(NULL, 1.0), *b = open_rig("leaks=1", 1.0);
    const float one = 1.0f;
    float sum = 0.0f;
    tutti_error err = TUTTI_ERROR_INIT;
    counter c = {b, take(&b->device, sizeof one), NULL, 0};
    void *const unit = take(&b->device, sizeof one);
    c.one = unit;
    ck_assert_ok(place_copy(&b->device, unit, &one, sizeof one, TUTTI_COPY_TO_DEVICE, &err),
                 err);
    for (uint64_t k = 0; k < ROUNDS; k++) {
        (void)run_plan(a, PLAN_TRAIN, k);
        run_merged(b, _i, k, &c);
        close_nets(a, b);
    }
    ck_assert_int_eq(traced("launch graph"), (ROUNDS - 2) * (alone[_i] + 1));
    ck_assert_int_eq(c.calls, 3); /* warm, warm, gathered */
    ck_assert_ok(place_copy(&b->device, &sum, c.sum, sizeof sum, TUTTI_COPY_FROM_DEVICE, &err),
                 err);
    ck_assert_float_eq(sum, ROUNDS);
    b->device.table->release(b->device.device, c.sum);
    b->device.table->release(b->device.device, unit);
    close_rig(a);
    close_rig(b);
}
END_TEST

/* For work; an event that tells that pinned memory of some steps ago is free is another matter. */
static int waits(void)
{
    return traced("wait for stream") + traced("wait for the device");
}

START_TEST(nothing_waits_inside_of_a_step)
{
    rig *r = open_rig("leaks=1", 1.0);
    tutti_error err = TUTTI_ERROR_INIT;
    for (uint64_t k = 0; k < 3; k++)
        (void)run_plan(r, PLAN_TRAIN, k);
    wait_for(&r->device);
    plan *p = toy_plan(r->net, PLAN_TRAIN, x_desc, y_desc);
    const int before = waits(), launches = traced("launch");
    for (uint64_t k = 3; k < 6; k++) {
        const tutti_step now = {sizeof now, 0, 17, k, 0};
        for (int segment = 0; segment < SEGMENT_COUNT; segment++)
            ck_assert_ok(plan_run(p, segment, &now, 0.5f, &err), err);
    }
    ck_assert_int_eq(traced("launch"), launches + 3 * 4);
    ck_assert_int_eq(waits(), before);
    close_rig(r);
}
END_TEST

START_TEST(an_input_elsewhere_has_a_graph_of_its_own)
{
    rig *a = open_rig(NULL, 1.0), *b = open_rig("leaks=1", 1.0);
    enum { PLACES = 6 };
    void *places[PLACES];
    tutti_error err = TUTTI_ERROR_INIT;
    for (int k = 0; k < PLACES; k++)
        places[k] = take(&b->device, B * IN * sizeof(float));
    for (int k = 0; k < 4 * PLACES; k++) { /* two in turn, then more than are kept */
        plan *p = toy_plan(a->net, PLAN_EVAL, x_desc, y_desc);
        plan *q = toy_plan(b->net, PLAN_EVAL, x_desc, y_desc);
        plan_set_input(q, 0, places[k < 2 * PLACES ? k % 2 : k % PLACES]);
        put(a, plan_input(p, 0), (uint64_t)k);
        put(b, plan_input(q, 0), (uint64_t)k);
        ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &toy_step, 1.0f, &err), err);
        ck_assert_ok(plan_run(q, SEGMENT_FORWARD, &toy_step, 1.0f, &err), err);
        close_to(a, plan_output(p, 0).data, b, plan_output(q, 0).data, B * CLASSES,
                 "the output");
    }
    ck_assert_int_eq(traced("instantiate"), 2);
    wait_for(&b->device);
    for (int k = 0; k < PLACES; k++)
        b->device.table->release(b->device.device, places[k]);
    close_rig(a);
    close_rig(b);
}
END_TEST

START_TEST(surgery_keeps_the_values_that_lie_on_a_gpu)
{
    rig *a = open_rig(NULL, 1.0), *b = open_rig("leaks=1", 1.0);
    rig *both[] = {a, b};
    tutti_error err = TUTTI_ERROR_INIT;
    for (int k = 0; k < 2; k++) { /* frozen, w0 moves among the buffers */
        net *n = both[k]->net;
        for (uint64_t round = 0; round < 4; round++)
            (void)run_plan(both[k], PLAN_TRAIN, round);
        n->weights[0]->flags = 0;
        n->changed = true;
        ck_assert_ok(net_commit(n, &err), err);
        for (uint64_t round = 4; round < 8; round++)
            (void)run_plan(both[k], PLAN_TRAIN, round);
    }
    close_nets(a, b);
    close_rig(a);
    close_rig(b);
}
END_TEST

START_TEST(a_class_out_of_range_is_told_when_the_host_looks)
{
    rig *r = open_rig("leaks=1", 1.0);
    plan *p = toy_plan(r->net, PLAN_EVAL, x_desc, y_desc);
    const int32_t classes[B] = {0, 1, 2, 99, 0, 0};
    tutti_error err = TUTTI_ERROR_INIT;
    put(r, plan_input(p, 0), 3);
    ck_assert_ok(place_copy(&r->device, plan_target(p, 0).data, classes, sizeof classes,
                            TUTTI_COPY_TO_DEVICE, &err),
                 err);
    for (int k = 0; k < 5; k++) { /* launched, and as part of a graph */
        err = (tutti_error)TUTTI_ERROR_INIT;
        ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &toy_step, 1.0f, &err), err);
        ck_assert_ok(plan_run(p, SEGMENT_LOSS, &toy_step, 1.0f, &err), err);
        ck_assert_int_eq(r->device.table->synchronise(r->device.device, NULL, &err),
                         TUTTI_E_RANGE);
        ck_assert_str_eq(
            err.text,
            "loss: softmax_cross_entropy: a class or an index is out of range (E_RANGE)");
    }
    close_rig(r);
}
END_TEST

START_TEST(a_plan_larger_than_the_gpu_is_refused_with_its_size)
{
    rig *r = open_rig("memory=1048576,leaks=1", 1.0);
    const plan_request request = {.kind = PLAN_TRAIN,
                                  .ninputs = 1,
                                  .ntargets = 1,
                                  .inputs = {{{8192, IN}, 2, TUTTI_F32}},
                                  .targets = {{{8192}, 1, TUTTI_I32}}};
    plan *p;
    uint64_t need = 0, have = 0;
    char text[256];
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(net_plan(r->net, &request, &p, &err), TUTTI_E_NOMEM);
    ck_assert_int_eq(sscanf(err.text,
                            "the training plan for inputs of F32 (8192, 8) needs %lu.%*u MiB, "
                            "%lu.%*u KiB",
                            &need, &have),
                     2);
    ck_assert_uint_ge(need, 3);
    ck_assert_uint_lt(have, 1024);
    (void)snprintf(text, sizeof text, "%s",
                   "KiB are available on Stand-in GPU; use a smaller microbatch_size");
    ck_assert_str_eq(strstr(err.text, "KiB are"), text);
    close_rig(r);
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

static double train(const rig *r, int64_t accumulation, int64_t n)
{
    const net_model_options options = {
        .net = r->net, .optimizer = &optimizer, .target = {{0}, 0, TUTTI_I32}, .seed = 17};
    net_model *m = NULL;
    int at = 0;
    const tutti_loop_data data = {.ctx = &at, .next = next};
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
    tutti_supervised *s = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(net_model_create(&options, &m, &err), err);
    const tutti_supervised_model calls = net_model_calls(m);
    o.device = device_of(r);
    o.step = TUTTI_STEP_ACCELERATOR;
    o.accumulation = accumulation;
    ck_assert_ok(tutti_supervised_trainer(&calls, &o, &s, &err), err);
    args.data = &data;
    args.epoch_length = n;
    ck_assert_ok(tutti_loop_run(tutti_supervised_loop(s), &args, &err), err);
    const double loss = *(double *)tutti_loop_get_state(tutti_supervised_loop(s))->output;
    tutti_supervised_destroy(s);
    net_model_destroy(m);
    return loss;
}

/* Row: accumulation 1 or 2. */
START_TEST(a_supervised_loop_trains_on_a_gpu)
{
    rig *a = open_rig(NULL, 1.0), *b = open_rig("leaks=1", 1.0);
    const double want = train(a, 1 + _i, 12);
    ck_assert(want > 0.0);
    ck_assert_close(train(b, 1 + _i, 12), want, 10.0 * near * want);
    close_nets(a, b);
    ck_assert_int_gt(traced("launch graph"), 12);
    close_rig(a);
    close_rig(b);
}
END_TEST

/* Row: finite or not.  One number comes back. */
START_TEST(gradients_are_scaled_where_they_are)
{
    const double factors[] = {0.375, (double)INFINITY};
    rig *rigs[] = {open_rig(NULL, 1.0), open_rig("leaks=1", 1.0)};
    for (int k = 0; k < 2; k++) {
        const net_model_options options = {.net = rigs[k]->net,
                                           .optimizer = &optimizer,
                                           .target = {{0}, 0, TUTTI_I32},
                                           .seed = 17};
        net_model *m = NULL;
        tutti_error err = TUTTI_ERROR_INIT;
        int finite = -1;
        ck_assert_ok(net_model_create(&options, &m, &err), err);
        (void)run_plan(rigs[k], PLAN_TRAIN, 0);
        const int before = k ? traced("copy 4 bytes") : 0, all = k ? traced("copy ") : 0;
        ck_assert_ok(net_model_calls(m).scale_gradients(m, factors[_i], &finite, &err), err);
        ck_assert_int_eq(finite, _i == 0);
        if (k) { /* the factor with a 0, and what became of that */
            ck_assert_int_eq(traced("copy 4 bytes"), before + 1);
            ck_assert_int_eq(traced("copy "), all + 2);
        }
        net_model_destroy(m);
    }
    if (_i == 0)
        close_nets(rigs[0], rigs[1]);
    close_rig(rigs[0]);
    close_rig(rigs[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_net");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, a_plan_computes_on_a_gpu_what_it_computes_on_the_host, 0, 2);
    tcase_add_loop_test(tc, segments_as_one_are_one_graph_and_compute_the_same, 0, 3);
    tcase_add_loop_test(tc, one_graph_leaves_a_block_out_or_not_as_the_device_finds_its_guard,
                        0, 2);
    tcase_add_test(tc, nothing_waits_inside_of_a_step);
    tcase_add_test(tc, an_input_elsewhere_has_a_graph_of_its_own);
    tcase_add_test(tc, surgery_keeps_the_values_that_lie_on_a_gpu);
    tcase_add_test(tc, a_class_out_of_range_is_told_when_the_host_looks);
    tcase_add_test(tc, a_plan_larger_than_the_gpu_is_refused_with_its_size);
    tcase_add_loop_test(tc, gradients_are_scaled_where_they_are, 0, 2);
    tcase_add_loop_test(tc, a_supervised_loop_trains_on_a_gpu, 0, 2);
    return tutti_run(suite);
}
