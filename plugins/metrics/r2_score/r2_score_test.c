/* r2_score_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../regression_check.h"

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_enum(&g, "multioutput", "uniform_average", 0);
    test_settings_int(&g, "num_outputs", 3);
    test_settings_int(&g, "adjusted", 0);
    ck_assert_close(pair_value("r2_score", &g, 0), 0.848238764, 1e-6);
    test_settings_init(&g);
    test_settings_enum(&g, "multioutput", "variance_weighted", 1);
    test_settings_int(&g, "num_outputs", 3);
    test_settings_int(&g, "adjusted", 0);
    ck_assert_close(pair_value("r2_score", &g, 0), 0.847689451, 1e-6);
    test_settings_init(&g);
    test_settings_enum(&g, "multioutput", "uniform_average", 0);
    test_settings_int(&g, "num_outputs", 1);
    test_settings_int(&g, "adjusted", 0);
    ck_assert_close(pair_value("r2_score", &g, 1), 0.839169198, 1e-6);
    test_settings_init(&g);
    test_settings_enum(&g, "multioutput", "uniform_average", 0);
    test_settings_int(&g, "num_outputs", 1);
    test_settings_int(&g, "adjusted", 5);
    ck_assert_close(pair_value("r2_score", &g, 1), 0.815517609, 1e-6);
}
END_TEST

START_TEST(equal_targets_have_a_score_of_0_or_1)
{
    const float x[] = {1.0f, 2.0f, 3.0f, 3.0f}, y[] = {3.0f, 3.0f, 3.0f, 3.0f};
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    gauge m;
    test_settings_init(&g);
    test_settings_enum(&g, "multioutput", "uniform_average", 0);
    test_settings_int(&g, "num_outputs", 1);
    test_settings_int(&g, "adjusted", 0);
    gauge_open(&m, "r2_score", &g);
    ck_assert_ok(gauge_feed(&m, gauge_tensor(y, TUTTI_F32, 2, 4, 1),
                            gauge_tensor(y, TUTTI_F32, 1, 4, 0), &err),
                 err);
    ck_assert_close(gauge_read(&m), 1.0, 0.0);
    ck_assert_ok(gauge_feed(&m, gauge_tensor(x, TUTTI_F32, 2, 4, 1),
                            gauge_tensor(y, TUTTI_F32, 1, 4, 0), &err),
                 err);
    ck_assert_close(gauge_read(&m), 0.0, 0.0);
    subject_close(&m.subject);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_enum(&g, "multioutput", "uniform_average", 0);
    test_settings_int(&g, "num_outputs", 1);
    test_settings_int(&g, "adjusted", 0);
    pair_refusals("r2_score", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("r2_score");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, equal_targets_have_a_score_of_0_or_1);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
