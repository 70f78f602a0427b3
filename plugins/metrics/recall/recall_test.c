/* recall_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../class_counts_check.h"

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    ck_assert_close(counts_value("recall", "macro"), 0.346915573, 1e-6);
    ck_assert_close(counts_value("recall", "micro"), 0.384615391, 1e-6);
    ck_assert_close(counts_value("recall", "weighted"), 0.384615421, 1e-6);
}
END_TEST

/* the same, with top_k 2 */
START_TEST(a_target_among_the_two_largest_is_predicted)
{
    static const double want[3] = {0.611850679, 0.653846145, 0.653846204};
    counts_of_two("recall", want);
}
END_TEST

/* torchmetrics' average "none" */
START_TEST(a_class_has_a_value_of_its_own)
{
    static const double want[COUNTS_CLASSES] = {0.428571433, 0.000000000, 0.636363626,
                                                0.357142866, 0.312500000, 0.000000000};
    counts_of_each("recall", want);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    counts_refusals("recall");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recall");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, a_target_among_the_two_largest_is_predicted);
    tcase_add_test(tc, a_class_has_a_value_of_its_own);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
