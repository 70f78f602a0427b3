/* multilabel_recall_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../labels_check.h"

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    const double want[3 + LABEL_COUNT] = {0.495429873, 0.680000007, 0.680000007, 0.454545468,
                                          0.875000000, 0.652173936, 0.000000000};
    label_values("multilabel_recall", want);
}
END_TEST

START_TEST(so_are_those_at_other_thresholds)
{
    label_values_at("multilabel_recall", 0.607089937, 0.336462468);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    label_refusals("multilabel_recall");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("multilabel_recall");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, so_are_those_at_other_thresholds);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
