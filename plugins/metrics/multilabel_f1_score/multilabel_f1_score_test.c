/* multilabel_f1_score_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../labels_check.h"

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    const double want[3 + LABEL_COUNT] = {0.419574291, 0.515151501, 0.587518096, 0.370370358,
                                          0.682926834, 0.625000000, 0.000000000};
    label_values("multilabel_f1_score", want);
}
END_TEST

START_TEST(so_are_those_at_other_thresholds)
{
    label_values_at("multilabel_f1_score", 0.433712125, 0.415608466);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    label_refusals("multilabel_f1_score");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("multilabel_f1_score");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, so_are_those_at_other_thresholds);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
