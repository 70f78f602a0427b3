/* guard_test.c - guarded nodes: skipped they give zeros, in kernels as in the interpreter. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "op_table.h"
#include "toy_model.h"

enum { B = 5, WIDTH = 8, CLASSES = 4 };

static tutti_value linear(tutti_graph *g, tutti_module m, tutti_value x, const char *w)
{
    return tutti_matmul(g, x, g->weight(g, m, w), 0, 0, 1);
}

/* x + keep0 * (tanh(x w0) w1 + keep1 * tanh(x w3)) -> w2, and a buffer that counts the runs of the
 * first block. */
static tutti_value trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const int64_t flat[] = {B * WIDTH}, back[] = {B, WIDTH};
    const tutti_value outer = g->guard(g, g->weight(g, m, "keep0"));
    const tutti_value h = tutti_op1(g, "tanh", linear(g, m, x[0], "w0"));
    const tutti_value y = linear(g, m, h, "w1");
    const tutti_value runs = g->weight(g, m, "runs");
    g->assign(g, runs, tutti_affine(g, runs, 1.0, 1.0));
    const tutti_value inner = g->guard(g, g->weight(g, m, "keep1"));
    const tutti_value z = tutti_op1(g, "tanh", linear(g, m, x[0], "w3"));
    g->unguard(g, inner);
    /* A view of something unguarded that leaves the guard. */
    const tutti_value view = tutti_reshape(g, x[0], flat, 1);
    g->unguard(g, outer);
    const tutti_value sum = tutti_add(g, tutti_add(g, y, z), x[0]);
    return linear(g, m, tutti_add(g, sum, tutti_reshape(g, view, back, 2)), "w2");
}

static toy_model model;
static net *n;

static void make(void)
{
    static toy_weight w[8];
    const tutti_init some = {TUTTI_INIT_NORMAL, 0, 0.0, 0.5, 0.0, NULL};
    const tutti_init one = {TUTTI_INIT_CONSTANT, 0, 1.0, 0.0, 0.0, NULL};
    const tutti_desc square = toy_desc(TUTTI_F32, 2, WIDTH, WIDTH, 0, 0);
    const tutti_desc number = toy_desc(TUTTI_F32, 0, 0, 0, 0, 0);
    int k = 0;
    w[k++] = (toy_weight){"w0", square, some, TUTTI_WEIGHT_TRAINABLE};
    w[k++] = (toy_weight){"w1", square, some, TUTTI_WEIGHT_TRAINABLE};
    w[k++] = (toy_weight){"w2", toy_desc(TUTTI_F32, 2, CLASSES, WIDTH, 0, 0), some,
                          TUTTI_WEIGHT_TRAINABLE};
    w[k++] = (toy_weight){"w3", square, some, TUTTI_WEIGHT_TRAINABLE};
    w[k++] = (toy_weight){"keep0", number, one, 0};
    w[k++] = (toy_weight){"keep1", number, one, 0};
    w[k++] = (toy_weight){"runs", number, one, 0};
    model = (toy_model){.weights = w, .trace = trace, .loss = tutti_softmax_cross_entropy};
    n = toy_net(tutti_op_table, &model);
}

static void drop(void)
{
    net_destroy(n);
}

static const tutti_weight *find(const char *name)
{
    for (uint32_t k = 0; k < net_weight_count(n); k++)
        if (strcmp(net_weight(n, k)->path, name) == 0)
            return net_weight(n, k);
    ck_abort_msg("no weight %s", name);
}

static void set(const char *name, float value)
{
    *(float *)find(name)->data.data = value;
}

static plan *filled(int kind)
{
    plan *p = toy_plan(n, kind, toy_desc(TUTTI_F32, 2, B, WIDTH, 0, 0),
                       toy_desc(TUTTI_I32, 1, B, 0, 0, 0));
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    return p;
}

static bool all_zero(const char *name)
{
    const tutti_weight *w = find(name);
    for (int64_t k = 0; k < tutti_numel(&w->data.desc); k++)
        if (((const float *)w->grad)[k] != 0.0f)
            return false;
    return true;
}

START_TEST(any_choice_matches_the_interpreter)
{
    plan *p = filled(PLAN_TRAIN);
    for (int choice = 0; choice < 8; choice++) {
        set("keep0", (float)(choice & 1));
        set("keep1", (float)(choice >> 1 & 1));
        toy_compare(p, 1.0f, 1e-5);
    }
    toy_check_arena(p);
}
END_TEST

START_TEST(skipped_blocks_have_no_gradient_and_keep_their_buffers)
{
    plan *p = filled(PLAN_TRAIN);
    set("runs", 0.0f);
    toy_run(p, 1.0f);
    ck_assert(!all_zero("w0") && !all_zero("w1") && !all_zero("w2") && !all_zero("w3"));
    ck_assert_close(*(float *)find("runs")->data.data, 1.0, 0.0);
    set("keep1", 0.0f);
    toy_run(p, 1.0f);
    ck_assert(!all_zero("w0") && !all_zero("w1") && all_zero("w3"));
    ck_assert_close(*(float *)find("runs")->data.data, 2.0, 0.0);
    set("keep0", 0.0f);
    set("keep1", 1.0f); /* the inner guard does not help */
    toy_run(p, 1.0f);
    ck_assert(all_zero("w0") && all_zero("w1") && all_zero("w3") && !all_zero("w2"));
    ck_assert_close(*(float *)find("runs")->data.data, 2.0, 0.0);
}
END_TEST

START_TEST(gradients_that_add_up_stay_as_they_are)
{
    plan *p = filled(PLAN_TRAIN), *more = filled(PLAN_TRAIN_ADD);
    toy_run(p, 1.0f);
    const tutti_weight *w = find("w0");
    float before[WIDTH * WIDTH];
    memcpy(before, w->grad, sizeof before);
    set("keep0", 0.0f);
    toy_run(more, 1.0f);
    ck_assert_mem_eq(w->grad, before, sizeof before);
}
END_TEST

/* A skipped kernel must not run at all: what is not a number cannot leave it. */
START_TEST(skipped_kernels_do_not_run)
{
    plan *p = filled(PLAN_TRAIN);
    ((float *)find("w0")->data.data)[0] = NAN;
    set("keep0", 0.0f);
    toy_run(p, 1.0f);
    ck_assert(isfinite(*(float *)plan_loss(p).data));
    ck_assert(all_zero("w0") && all_zero("w1"));
    set("keep0", 1.0f);
    toy_run(p, 1.0f);
    ck_assert(isnan(*(float *)plan_loss(p).data));
}
END_TEST

START_TEST(one_plan_serves_all_choices)
{
    for (int choice = 0; choice < 4; choice++) {
        set("keep0", (float)(choice & 1));
        set("keep1", (float)(choice >> 1));
        toy_run(filled(PLAN_TRAIN), 1.0f);
    }
    ck_assert_uint_eq(net_count_plans(n).built, 1);
}
END_TEST

START_TEST(equal_nodes_under_other_guards_are_others)
{
    tutti_error err = TUTTI_ERROR_INIT;
    graph *g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    tutti_graph *b = graph_builder(g);
    const tutti_desc vector = toy_desc(TUTTI_F32, 1, 3, 0, 0, 0),
                     number = toy_desc(TUTTI_F32, 0, 0, 0, 0, 0);
    const tutti_value x = graph_input(g, &vector), keep = graph_input(g, &number);
    const tutti_value plain = tutti_op1(b, "exp", x);
    const tutti_value before = b->guard(b, keep), guarded = tutti_op1(b, "exp", x);
    ck_assert_uint_ne(plain, guarded);
    ck_assert_uint_eq(guarded, tutti_op1(b, "exp", x));
    b->unguard(b, before);
    ck_assert_uint_eq(plain, tutti_op1(b, "exp", x));
    (void)b->guard(b, x);
    ck_assert_int_eq(graph_error(g, &err), TUTTI_E_SHAPE);
    ck_assert_error(err, TUTTI_E_SHAPE, "guard: keep is F32 (3), want one F32 of rank 0");
    graph_destroy(g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guards");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, make, drop);
    tcase_add_test(all, any_choice_matches_the_interpreter);
    tcase_add_test(all, skipped_blocks_have_no_gradient_and_keep_their_buffers);
    tcase_add_test(all, gradients_that_add_up_stay_as_they_are);
    tcase_add_test(all, skipped_kernels_do_not_run);
    tcase_add_test(all, one_plan_serves_all_choices);
    tcase_add_test(all, equal_nodes_under_other_guards_are_others);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
