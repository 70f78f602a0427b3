/* jaccard_index_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../class_counts_check.h"

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    ck_assert_close(counts_value("jaccard_index", "macro"), 0.230981261, 1e-6);
    ck_assert_close(counts_value("jaccard_index", "micro"), 0.238095239, 1e-6);
    ck_assert_close(counts_value("jaccard_index", "weighted"), 0.272061735, 1e-6);
}
END_TEST

/* torchmetrics' average "none" */
START_TEST(a_class_has_a_value_of_its_own)
{
    static const double want[COUNTS_CLASSES] = {0.176470593, 0.000000000, 0.437500000,
                                                0.277777791, 0.263157904, 0.000000000};
    counts_of_each("jaccard_index", want);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    counts_refusals("jaccard_index");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jaccard_index");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, a_class_has_a_value_of_its_own);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
