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

/* the same, with top_k 2 */
START_TEST(a_target_among_the_two_largest_is_predicted)
{
    static const double want[3] = {0.616147161, 0.653846145, 0.732113719};
    counts_of_two("precision", want);
}
END_TEST

/* torchmetrics' average "none" */
START_TEST(a_class_has_a_value_of_its_own)
{
    static const double want[COUNTS_CLASSES] = {0.230769232, 0.000000000, 0.583333313,
                                                0.555555582, 0.625000000, 0.000000000};
    counts_of_each("precision", want);
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
    tcase_add_test(tc, a_target_among_the_two_largest_is_predicted);
    tcase_add_test(tc, a_class_has_a_value_of_its_own);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
