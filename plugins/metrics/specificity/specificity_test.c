/* specificity_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../class_counts_check.h"

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    ck_assert_close(counts_value("specificity", "macro"), 0.851779342, 1e-6);
    ck_assert_close(counts_value("specificity", "micro"), 0.876923084, 1e-6);
    ck_assert_close(counts_value("specificity", "weighted"), 0.874281347, 1e-6);
}
END_TEST

/* the same, with top_k 2 */
START_TEST(a_target_among_the_two_largest_is_predicted)
{
    static const double want[3] = {0.917617321, 0.930769205, 0.934240401};
    counts_of_two("specificity", want);
}
END_TEST

/* torchmetrics' average "none" */
START_TEST(a_class_has_a_value_of_its_own)
{
    static const double want[COUNTS_CLASSES] = {0.777777791, 0.791666687, 0.878048778,
                                                0.894736826, 0.916666687, 1.000000000};
    counts_of_each("specificity", want);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    counts_refusals("specificity");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("specificity");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, a_target_among_the_two_largest_is_predicted);
    tcase_add_test(tc, a_class_has_a_value_of_its_own);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
