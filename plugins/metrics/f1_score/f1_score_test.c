/* f1_score_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../class_counts_check.h"

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    ck_assert_close(counts_value("f1_score", "macro"), 0.352028966, 1e-6);
    ck_assert_close(counts_value("f1_score", "micro"), 0.384615391, 1e-6);
    ck_assert_close(counts_value("f1_score", "weighted"), 0.414409131, 1e-6);
}
END_TEST

/* the same, with top_k 2 */
START_TEST(a_target_among_the_two_largest_is_predicted)
{
    static const double want[3] = {0.596304178, 0.653846145, 0.674442530};
    counts_of_two("f1_score", want);
}
END_TEST

/* torchmetrics' average "none" */
START_TEST(a_class_has_a_value_of_its_own)
{
    static const double want[COUNTS_CLASSES] = {0.300000012, 0.000000000, 0.608695626,
                                                0.434782594, 0.416666657, 0.000000000};
    counts_of_each("f1_score", want);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    counts_refusals("f1_score");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("f1_score");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, a_target_among_the_two_largest_is_predicted);
    tcase_add_test(tc, a_class_has_a_value_of_its_own);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
