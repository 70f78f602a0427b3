/* cuda_net_test.c - the graph core's models on a GPU: plans, graphs of segments. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_rig.h"
#include "graph/surgery/surgery.h"

#include <stdio.h>

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
    /* forward, loss with its gradient, and backward in two plans, forward and loss in the third */
    ck_traced("instantiate", 3 + 3 + 2);
    ck_traced("launch graph", 3 * (3 + 3 + 2));
    close_rig(a);
    close_rig(b);
}
END_TEST

static void set_keep(const rig *r, float keep)
{
    tutti_error err = TUTTI_ERROR_INIT;
    for (uint32_t k = 0; k < net_weight_count(r->net); k++)
        if (strcmp(net_weight(r->net, k)->path, "keep") == 0)
            ck_assert_ok(device_copy(device_of(r), net_weight(r->net, k)->data.data, &keep,
                                     sizeof keep, TUTTI_COPY_TO_DEVICE, &err),
                         err);
}

/* Row: whether graphs can have blocks, hold them, or are not done with them.  Where there are none, the block
 * runs in vain.  Two steps are warm, in seven there is a graph; the guard is 0 in two of these. */
static const struct {
    const char *settings;
    int instances, launches, blocks, left_out, done;
} can_block[] = {
    {"leaks=1,conditions=0", 3, 7 * 3, 0, 0, 0},
    {"leaks=1", 3, 7 * 3, 2, 2, 5},
    {"leaks=1,conditions=2", 4, 7 * 3 - 1, 1, 0, 0},
};

START_TEST(one_graph_leaves_a_block_out_or_not_as_the_device_finds_its_guard)
{
    rig *a = open_rig(NULL, 1.0);
    rig *b = open_rig(can_block[_i].settings, 1.0);
    for (uint64_t k = 0; k < 9; k++) {
        const float keep = k % 3 ? 1.0f : 0.0f;
        set_keep(a, keep);
        set_keep(b, keep);
        (void)run_plan(a, PLAN_TRAIN, k);
        (void)run_plan(b, PLAN_TRAIN, k);
        close_nets(a, b);
    }
    ck_traced("instantiate", can_block[_i].instances);
    ck_traced("launch graph", can_block[_i].launches);
    ck_traced("if condition", can_block[_i].blocks);
    ck_traced("condition 1 was 0", can_block[_i].left_out);
    ck_traced("condition 1 was 1", can_block[_i].done);
    ck_traced("condition 2 was 0", can_block[_i].left_out);
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
    static const int alone[] = {0, 1, 2}; /* graphs of the segments before */
    rig *a = open_rig(NULL, 1.0), *b = open_rig("leaks=1", 1.0);
    const float one = 1.0f;
    float sum = 0.0f;
    tutti_error err = TUTTI_ERROR_INIT;
    counter c = {b, take(&b->device, sizeof one), NULL, 0};
    void *const unit = take(&b->device, sizeof one);
    c.one = unit;
    ck_assert_ok(device_copy(&b->device, unit, &one, sizeof one, TUTTI_COPY_TO_DEVICE, &err),
                 err);
    for (uint64_t k = 0; k < ROUNDS; k++) {
        (void)run_plan(a, PLAN_TRAIN, k);
        run_merged(b, _i, k, &c);
        close_nets(a, b);
    }
    ck_traced("launch graph", (ROUNDS - 2) * (alone[_i] + 1));
    ck_assert_int_eq(c.calls, 3); /* warm, warm, gathered */
    ck_assert_ok(device_copy(&b->device, &sum, c.sum, sizeof sum, TUTTI_COPY_FROM_DEVICE, &err),
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
    ck_traced("launch", launches + 3 * 3);
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
    ck_traced("instantiate", 2);
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
        n->tree.weights[0]->flags = 0;
        n->tree.changed = true;
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
    ck_assert_ok(device_copy(&r->device, plan_target(p, 0).data, classes, sizeof classes,
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

int main(void)
{
    Suite *suite = suite_create("cuda_net");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, a_plan_computes_on_a_gpu_what_it_computes_on_the_host, 0, 2);
    tcase_add_loop_test(tc, segments_as_one_are_one_graph_and_compute_the_same, 0, 3);
    tcase_add_loop_test(tc, one_graph_leaves_a_block_out_or_not_as_the_device_finds_its_guard,
                        on_a_gpu() ? 1 : 0, on_a_gpu() ? 2 : 3);
    tcase_add_test(tc, nothing_waits_inside_of_a_step);
    tcase_add_test(tc, an_input_elsewhere_has_a_graph_of_its_own);
    tcase_add_test(tc, surgery_keeps_the_values_that_lie_on_a_gpu);
    tcase_add_test(tc, a_class_out_of_range_is_told_when_the_host_looks);
    if (!on_a_gpu())
        tcase_add_test(tc, a_plan_larger_than_the_gpu_is_refused_with_its_size);
    return tutti_run(suite);
}
