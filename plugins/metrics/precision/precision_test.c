/* precision_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../class_counts_check.h"

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    ck_assert_close(counts_value("precision", "macro"), 0.398931623, 1e-6);
    ck_assert_close(counts_value("precision", "micro"), 0.384615391, 1e-6);
    ck_assert_close(counts_value("precision", "weighted"), 0.496342897, 1e-6);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    counts_refusals("precision");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("precision");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
