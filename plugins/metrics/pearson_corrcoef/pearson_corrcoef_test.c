/* pearson_corrcoef_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../regression_check.h"

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_int(&g, "num_outputs", 1);
    ck_assert_close(pair_value("pearson_corrcoef", &g, 1), 0.938871622, 1e-6);
    test_settings_init(&g);
    test_settings_int(&g, "num_outputs", 3);
    ck_assert_close(pair_value("pearson_corrcoef", &g, 0), 0.943423710, 1e-6);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_int(&g, "num_outputs", 1);
    pair_refusals("pearson_corrcoef", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pearson_corrcoef");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
