/* plan_cache_test.c - what the cache of plans keeps, drops and builds again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "op_table.h"
#include "toy_model.h"

enum { IN = 6, HIDDEN = 8, CLASSES = 3 };

static tutti_value trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const tutti_value h =
        tutti_op1(g, "tanh", tutti_matmul(g, x[0], g->weight(g, m, "w0"), 0, 0, 1));
    return tutti_matmul(g, h, g->weight(g, m, "w1"), 0, 0, 1);
}

static toy_model model;
static net *n;

static void make(void)
{
    static toy_weight w[3];
    const tutti_init init = {TUTTI_INIT_NORMAL, 0, 0.0, 0.5, 0.0, NULL};
    w[0] = (toy_weight){"w0", toy_desc(TUTTI_F32, 2, HIDDEN, IN, 0, 0), init,
                        TUTTI_WEIGHT_TRAINABLE};
    w[1] = (toy_weight){"w1", toy_desc(TUTTI_F32, 2, CLASSES, HIDDEN, 0, 0), init,
                        TUTTI_WEIGHT_TRAINABLE};
    model = (toy_model){.weights = w, .trace = trace, .loss = tutti_softmax_cross_entropy};
    n = toy_net(tutti_op_table, &model);
}

static void drop(void)
{
    net_destroy(n);
}

static plan *plan_of(int kind, int64_t rows)
{
    return toy_plan(n, kind, toy_desc(TUTTI_F32, 2, rows, IN, 0, 0),
                    toy_desc(TUTTI_I32, 1, rows, 0, 0, 0));
}

/* One training step on `rows` made-up samples; the gradients, which the caller frees. */
static float *train(int64_t rows, int64_t *ret_count)
{
    float *weights, *grads;
    plan *p = plan_of(PLAN_TRAIN, rows);
    toy_fill(plan_input(p, 0), (uint64_t)rows);
    toy_fill(plan_target(p, 0), (uint64_t)rows + 1);
    toy_run(p, 1.0f);
    net_arena(n, &weights, &grads, ret_count);
    float *copy = malloc(sizeof *copy * (size_t)*ret_count);
    ck_assert_ptr_nonnull(copy);
    return memcpy(copy, grads, sizeof *copy * (size_t)*ret_count);
}

START_TEST(switching_shapes_rebuilds_nothing_the_second_time)
{
    static const int64_t sizes[] = {4, 32, 8, 64, 16};
    enum { SIZES = 5 };
    float *first[SIZES];
    int64_t count = 0;
    for (int k = 0; k < SIZES; k++)
        first[k] = train(sizes[k], &count);
    ck_assert_uint_eq(net_count_plans(n).built, SIZES);
    for (int round = 0; round < 3; round++)
        for (int k = 0; k < SIZES; k++) {
            float *again = train(sizes[k], &count);
            ck_assert_mem_eq(again, first[k], sizeof *again * (size_t)count);
            free(again);
        }
    ck_assert_uint_eq(net_count_plans(n).built, SIZES);
    ck_assert_uint_eq(net_count_plans(n).dropped, 0);
    for (int k = 0; k < SIZES; k++)
        free(first[k]);
}
END_TEST

START_TEST(kinds_and_dtypes_are_plans_of_their_own)
{
    plan *train_plan = plan_of(PLAN_TRAIN, 4), *eval = plan_of(PLAN_EVAL, 4);
    plan *soft = toy_plan(n, PLAN_TRAIN, toy_desc(TUTTI_F32, 2, 4, IN, 0, 0),
                          toy_desc(TUTTI_F32, 2, 4, CLASSES, 0, 0));
    ck_assert_ptr_ne(train_plan, eval);
    ck_assert_ptr_ne(train_plan, soft);
    ck_assert_ptr_eq(train_plan->model_graph, soft->model_graph);
    ck_assert_uint_eq(net_count_plans(n).plans, 3);
    ck_assert_ptr_eq(plan_of(PLAN_EVAL, 4), eval);
    ck_assert_uint_eq(net_count_plans(n).built, 3);
}
END_TEST

START_TEST(all_plans_share_the_arena_of_the_largest)
{
    (void)plan_of(PLAN_TRAIN, 512);
    const uint64_t bytes = n->compiled.plans->arena_bytes;
    for (int64_t rows = 1; rows < 512; rows *= 2)
        (void)plan_of(PLAN_TRAIN, rows);
    ck_assert_uint_eq(n->compiled.plans->arena_bytes, bytes);
}
END_TEST

START_TEST(over_the_limit_the_plan_unused_longest_goes)
{
    int64_t count = 0;
    float *want = train(2, &count);
    const uint64_t one = net_count_plans(n).bytes;
    net_set_plan_limit(n, 12 * one);
    for (int64_t rows = 3; rows < 43; rows++) {
        free(train(rows, &count));
        free(train(3, &count)); /* stays, being used */
    }
    const net_plan_counts c = net_count_plans(n);
    ck_assert_uint_eq(c.built, 41);
    ck_assert_uint_le(c.bytes, 12 * one);
    ck_assert_uint_eq(c.plans, 41 - c.dropped);
    ck_assert_uint_ge(c.plans, 8);
    plan *p = plan_of(PLAN_TRAIN, 3);
    ck_assert_ptr_nonnull(p);
    (void)plan_of(PLAN_TRAIN, 42);
    ck_assert_uint_eq(net_count_plans(n).built, 41);
    float *again = train(2, &count); /* built once more, to the same bits */
    ck_assert_uint_eq(net_count_plans(n).built, 42);
    ck_assert_mem_eq(again, want, sizeof *want * (size_t)count);
    free(again);
    free(want);
}
END_TEST

START_TEST(the_last_plans_stay_whatever_the_limit)
{
    plan *plans[8];
    net_set_plan_limit(n, 1);
    for (int k = 0; k < 8; k++)
        plans[k] = plan_of(PLAN_TRAIN, k + 1);
    for (int k = 0; k < 8; k++)
        ck_assert_ptr_eq(plan_of(PLAN_TRAIN, k + 1), plans[k]);
    ck_assert_uint_eq(net_count_plans(n).dropped, 0);
    (void)plan_of(PLAN_TRAIN, 9);
    ck_assert_uint_eq(net_count_plans(n).dropped, 1);
    for (int k = 1; k < 8; k++)
        ck_assert_ptr_eq(plan_of(PLAN_TRAIN, k + 1), plans[k]);
    ck_assert_uint_eq(net_count_plans(n).built, 9);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan cache");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, make, drop);
    tcase_add_test(all, switching_shapes_rebuilds_nothing_the_second_time);
    tcase_add_test(all, kinds_and_dtypes_are_plans_of_their_own);
    tcase_add_test(all, all_plans_share_the_arena_of_the_largest);
    tcase_add_test(all, over_the_limit_the_plan_unused_longest_goes);
    tcase_add_test(all, the_last_plans_stay_whatever_the_limit);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
