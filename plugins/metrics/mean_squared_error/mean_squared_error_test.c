/* mean_squared_error_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../regression_check.h"

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_bool(&g, "squared", 1);
    ck_assert_close(pair_value("mean_squared_error", &g, 0), 1.134437919, 1e-6);
    test_settings_init(&g);
    test_settings_bool(&g, "squared", 1);
    ck_assert_close(pair_value("mean_squared_error", &g, 1), 1.276961088, 1e-6);
    test_settings_init(&g);
    test_settings_bool(&g, "squared", 0);
    ck_assert_close(pair_value("mean_squared_error", &g, 0), 1.065099955, 1e-6);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_bool(&g, "squared", 1);
    pair_refusals("mean_squared_error", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mean_squared_error");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
