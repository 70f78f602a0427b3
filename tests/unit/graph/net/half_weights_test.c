/* half_weights_test.c - trained and frozen weights in 16 bits: plans read the copies, who writes weights makes them old. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/half.h"

#include "graph/program/program_internal.h"
#include "graph/surgery/surgery.h"
#include "op_table.h"
#include "toy_model.h"

enum { B = 6, IN = 8, WIDTH = 32, CLASSES = 4 };

static const tutti_desc x_desc = {{B, IN}, 2, TUTTI_F32}, y_desc = {{B}, 1, TUTTI_I32};

#define WEIGHT(name, rank, rows, columns)                                                      \
    {                                                                                          \
        name, {{rows, columns}, rank, TUTTI_F32}, {.kind = TUTTI_INIT_NORMAL, .b = 0.5},       \
            TUTTI_WEIGHT_TRAINABLE                                                             \
    }

static const toy_weight layers[] = {WEIGHT("w0", 2, WIDTH, IN),
                                    WEIGHT("b0", 1, WIDTH, 0),
                                    WEIGHT("shift", 1, WIDTH, 0),
                                    WEIGHT("w1", 2, CLASSES, WIDTH),
                                    {.name = NULL}};

/* w1 is read twice, b0 by a product, shift by none. */
static tutti_value trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const tutti_value w1 = g->weight(g, m, "w1");
    tutti_value h = tutti_matmul(g, x[0], g->weight(g, m, "w0"), g->weight(g, m, "b0"), 0, 1);
    h = tutti_relu(g, tutti_add(g, h, g->weight(g, m, "shift")));
    return tutti_add(g, tutti_matmul(g, h, w1, 0, 0, 1),
                     tutti_matmul(g, tutti_relu(g, h), w1, 0, 0, 1));
}

static toy_model model(void)
{
    return (toy_model){.weights = layers, .trace = trace, .loss = tutti_softmax_cross_entropy};
}

static net *net_with(int low, int precision, toy_model *m)
{
    net *n = toy_net(tutti_op_table, m);
    tutti_error err = TUTTI_ERROR_INIT;
    n->options.precision = precision;
    n->options.half = low;
    n->tree.changed = true; /* the copies are made by a commit */
    ck_assert_ok(net_commit(n, &err), err);
    return n;
}

static plan *trained(net *n, int kind)
{
    plan *p = toy_plan(n, kind, x_desc, y_desc);
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    toy_run(p, 1.0f);
    return p;
}

static uint32_t casts_of_weights(const plan *p)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < p->model_graph->compiled.program->nsteps; k++) {
        const step *s = &p->model_graph->compiled.program->steps[k];
        const bool cast =
            s->node && !s->pointwise_kernel && strcmp(s->node->op->name, "cast") == 0;
        n += cast &&
             graph_value_at(p->model_graph->compiled.g, s->node->in[0])->kind == VALUE_WEIGHT;
    }
    return n;
}

/* Weights and gradients of both, bit by bit. */
static void same_numbers(net *a, net *b)
{
    float *wa, *ga, *wb, *gb;
    int64_t count, other;
    net_arena(a, &wa, &ga, &count);
    net_arena(b, &wb, &gb, &other);
    ck_assert_int_eq(count, other);
    ck_assert_mem_eq(wa, wb, (size_t)count * sizeof *wa);
    ck_assert_mem_eq(ga, gb, (size_t)count * sizeof *ga);
}

/* A step down the gradient; with_low also the copies, as an optimizer step does. */
static void step_down(net *n, bool with_low)
{
    float *w, *g;
    int64_t count;
    int32_t dtype;
    uint16_t *low = net_half_weights(n, &dtype);
    net_arena(n, &w, &g, &count);
    for (int64_t k = 0; k < count; k++) {
        w[k] -= 0.1f * g[k];
        if (with_low)
            low[k] = tutti_to_half(w[k], dtype);
    }
}

static const int precisions[] = {NET_AMP_BF16, NET_AMP_FP16};

/* Row: precision.  Copies by the optimizer step, and by the plan where nobody has written them. */
START_TEST(copies_give_what_casts_give_to_the_bit)
{
    toy_model m[2] = {model(), model()};
    net *nodes = net_with(NET_HALF_NODES, precisions[_i], &m[0]);
    net *copies = net_with(NET_HALF_COPIES, precisions[_i], &m[1]);
    static const int kinds[] = {PLAN_TRAIN, PLAN_TRAIN_ADD, PLAN_EVAL};
    for (int round = 0; round < 6; round++) {
        for (int k = 0; k < 3; k++) {
            plan *p = trained(nodes, kinds[k]), *q = trained(copies, kinds[k]);
            ck_assert_uint_eq(casts_of_weights(p), 3);
            ck_assert_uint_eq(casts_of_weights(q), 0);
            ck_assert_mem_eq(plan_output(p, 0).data, plan_output(q, 0).data,
                             B * CLASSES * sizeof(float));
            same_numbers(nodes, copies);
        }
        step_down(nodes, false);
        step_down(copies, round % 2);
        if (round % 2 == 0)
            net_touch_weights(copies);
    }
    net_destroy(nodes);
    net_destroy(copies);
}
END_TEST

static float loss_of(net *n)
{
    return *(float *)plan_loss(trained(n, PLAN_EVAL)).data;
}

static void write_weights(net *n, float factor)
{
    float *w, *g;
    int64_t count;
    net_arena(n, &w, &g, &count);
    for (int64_t k = 0; k < count; k++)
        w[k] *= factor;
}

START_TEST(old_copies_are_made_anew_when_told_and_always_once_exposed)
{
    toy_model m = model();
    net *n = net_with(NET_HALF_COPIES, NET_AMP_BF16, &m);
    const float before = loss_of(n);
    write_weights(n, 2.0f);
    const float untold = loss_of(n); /* "shift" is read as it is, all others by their copies */
    net_touch_weights(n);
    const float told = loss_of(n);
    ck_assert_float_ne(told, untold);
    write_weights(n, 0.5f);
    net_expose_weights(n);
    ck_assert_float_eq(loss_of(n), before);
    write_weights(n, 2.0f);
    ck_assert_float_eq(loss_of(n), told);
    net_destroy(n);
}
END_TEST

START_TEST(surgery_and_freezing_keep_copies_right)
{
    toy_model m[2] = {model(), model()};
    net *nodes = net_with(NET_HALF_NODES, NET_AMP_BF16, &m[0]);
    net *copies = net_with(NET_HALF_COPIES, NET_AMP_BF16, &m[1]);
    net *both[2] = {nodes, copies};
    tutti_error err = TUTTI_ERROR_INIT;
    for (int k = 0; k < 2; k++) {
        (void)trained(both[k], PLAN_TRAIN);
        net_freeze(both[k], 0);
        ck_assert_ok(net_commit(both[k], &err), err);
    }
    plan *p = trained(copies, PLAN_TRAIN);
    (void)trained(nodes, PLAN_TRAIN);
    ck_assert_uint_eq(casts_of_weights(p), 0);
    same_numbers(nodes, copies);
    ck_assert_mem_eq(plan_output(p, 0).data, plan_output(trained(nodes, PLAN_TRAIN), 0).data,
                     B * CLASSES * sizeof(float));
    const net_half_counts c = net_count_half(copies), none = net_count_half(nodes);
    ck_assert_uint_eq(c.trained, 3);
    ck_assert_uint_eq(c.frozen, 1);
    ck_assert_int_eq(c.dtype, TUTTI_BF16);
    ck_assert_uint_eq(none.bytes, 0);
    net_destroy(nodes);
    net_destroy(copies);
}
END_TEST

/* The first weight of the arena is frozen. */
START_TEST(a_frozen_weight_is_cast_when_it_has_been_written_alone)
{
    toy_model m = model();
    net *n = net_with(NET_HALF_COPIES, NET_AMP_BF16, &m);
    tutti_error err = TUTTI_ERROR_INIT;
    net_freeze(n, 0);
    ck_assert_ok(net_commit(n, &err), err);
    uint32_t frozen = 0;
    while (!net_frozen(n, frozen))
        frozen++;
    const tutti_tensor t = net_weight(n, frozen)->data;
    ck_assert(net_has_half(n, t.data));
    const float before = loss_of(n);
    for (int64_t k = 0; k < tutti_numel(&t.desc); k++)
        ((float *)t.data)[k] *= 2.0f;
    net_touch_trained(n); /* as every update does */
    ck_assert_float_eq(loss_of(n), before);
    net_touch_weights(n);
    ck_assert_float_ne(loss_of(n), before);
    net_destroy(n);
}
END_TEST

START_TEST(a_cpu_reads_weights_as_they_are)
{
    static const int all[] = {NET_FP32, NET_AMP_BF16, NET_AMP_FP16, NET_FP32_FAST};
    for (int k = 0; k < 4; k++) {
        toy_model m = model();
        net *n = net_with(NET_HALF_BEST, all[k], &m);
        int32_t dtype = 77;
        ck_assert_ptr_null(net_half_weights(n, &dtype));
        ck_assert_int_eq(dtype, TUTTI_DTYPE_NONE);
        ck_assert_uint_eq(casts_of_weights(trained(n, PLAN_TRAIN)), 0);
        net_touch_weights(n); /* nothing to do */
        net_expose_weights(n);
        net_destroy(n);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("low");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, copies_give_what_casts_give_to_the_bit, 0, 2);
    tcase_add_test(tc, old_copies_are_made_anew_when_told_and_always_once_exposed);
    tcase_add_test(tc, surgery_and_freezing_keep_copies_right);
    tcase_add_test(tc, a_frozen_weight_is_cast_when_it_has_been_written_alone);
    tcase_add_test(tc, a_cpu_reads_weights_as_they_are);
    return tutti_run(suite);
}
