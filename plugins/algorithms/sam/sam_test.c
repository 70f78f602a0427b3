/* sam_test.c - the step on a loss whose gradient is known: L = sum of w^2 / 2, so g = w. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"
#include "tutti/closure.h"
#include "tutti/stateful.h"

#include <math.h>

static run r;
static float w[2][2], g[2][2], buffer[1];
static float seen[4][4]; /* the weights at each evaluation */
static int evaluations, updates, infinite_at;

static void opened(subject *s, double rho, int64_t interval)
{
    test_settings given_;
    tutti_error err = TUTTI_ERROR_INIT;
    run_init(&r);
    run_kernels(&r);
    evaluations = updates = 0;
    infinite_at = -1;
    w[0][0] = 3.0f, w[0][1] = 0.0f, w[1][0] = 0.0f, w[1][1] = -4.0f;
    run_weight(&r, "a", shape(TUTTI_F32, 2), w[0], g[0]);
    run_weight(&r, "mean", shape(TUTTI_F32, 1), buffer, NULL);
    run_weight(&r, "b", shape(TUTTI_F32, 2), w[1], g[1]);
    test_settings_init(&given_);
    test_settings_float(&given_, "rho", rho);
    test_settings_float(&given_, "epsilon", 1e-12);
    test_settings_int(&given_, "interval", interval);
    ck_assert_ok(
        subject_open(s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "sam", &given_, r.services, &err),
        err);
}

static tutti_status evaluate(void *ctx, tutti_evaluation *ret, tutti_error *err)
{
    (void)ctx, (void)err;
    memcpy(seen[evaluations], w, sizeof w);
    memcpy(g, w, sizeof w);
    *ret = (tutti_evaluation){0.0f, evaluations != infinite_at};
    evaluations++;
    return TUTTI_OK;
}

static tutti_status update(void *ctx, tutti_error *err)
{
    (void)ctx, (void)err;
    updates++;
    for (int k = 0; k < 4; k++)
        w[k / 2][k % 2] -= 0.5f * g[k / 2][k % 2];
    return TUTTI_OK;
}

static void step(subject *s)
{
    const tutti_closure c = {sizeof c, 0, NULL, evaluate, update};
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_optimizer_wrapper_v1 *table = subject_query(s, TUTTI_OPTIMIZER_WRAPPER_V1);
    ck_assert_ok(table->step(s->self, &c, &err), err);
}

START_TEST(the_gradient_comes_from_the_place_that_the_first_one_points_to)
{
    subject s;
    opened(&s, 0.5, 1);
    step(&s);
    ck_assert_int_eq(evaluations, 2);
    ck_assert_int_eq(updates, 1);
    /* norm 5: w' = w + 0.5 w / 5 */
    ck_assert_close(seen[1][0], 3.3, 1e-6);
    ck_assert_close(seen[1][3], -4.4, 1e-6);
    /* a zero loss is a loss like any other: the update is made */
    ck_assert_close(w[0][0], 3.0 - 0.5 * 3.3, 1e-6);
    ck_assert_close(w[1][1], -4.0 + 0.5 * 4.4, 1e-6);
    ck_assert_close(w[0][1], 0.0, 0.0);
    subject_close(&s);
}
END_TEST

START_TEST(without_gradient_nothing_moves)
{
    subject s;
    opened(&s, 0.5, 1);
    memset(w, 0, sizeof w);
    step(&s);
    for (int k = 0; k < 4; k++)
        ck_assert(seen[1][k] == 0.0f && isfinite(w[k / 2][k % 2]));
    subject_close(&s);
}
END_TEST

START_TEST(an_infinite_gradient_updates_nothing_and_leaves_the_weights_to_the_bit)
{
    subject s;
    for (int bad = 0; bad < 2; bad++) {
        opened(&s, 0.3, 1);
        infinite_at = bad;
        step(&s);
        ck_assert_int_eq(evaluations, bad + 1);
        ck_assert_int_eq(updates, 0);
        ck_assert(w[0][0] == 3.0f && w[1][1] == -4.0f);
        subject_close(&s);
    }
}
END_TEST

START_TEST(between_its_steps_the_optimizer_is_alone)
{
    subject s;
    tutti_state_item item;
    uint32_t n;
    tutti_error err = TUTTI_ERROR_INIT;
    opened(&s, 0.5, 3);
    step(&s);
    step(&s);
    ck_assert_int_eq(evaluations, 2);
    step(&s);
    ck_assert_int_eq(evaluations, 4);
    ck_assert_int_eq(updates, 3);
    const tutti_stateful_v1 *table = subject_query(&s, TUTTI_STATEFUL_V1);
    ck_assert_ok(table->items(s.self, &item, 1, &n, &err), err);
    ck_assert_str_eq(item.name, "steps");
    ck_assert_int_eq(*(const int64_t *)item.tensor.data, 3);
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sam");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_gradient_comes_from_the_place_that_the_first_one_points_to);
    tcase_add_test(tc, without_gradient_nothing_moves);
    tcase_add_test(tc, an_infinite_gradient_updates_nothing_and_leaves_the_weights_to_the_bit);
    tcase_add_test(tc, between_its_steps_the_optimizer_is_alone);
    return tutti_run(suite);
}
