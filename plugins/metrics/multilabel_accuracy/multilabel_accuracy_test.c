/* multilabel_accuracy_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../labels_check.h"

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    const double want[3 + LABEL_COUNT] = {0.648067653, 0.648351669, 0.644260883, 0.630434811,
                                          0.717391312, 0.600000024, 0.644444466};
    label_values("multilabel_accuracy", want);
}
END_TEST

START_TEST(so_are_those_at_other_thresholds)
{
    label_values_at("multilabel_accuracy", 0.554468632, 0.774516881);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    label_refusals("multilabel_accuracy");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("multilabel_accuracy");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, so_are_those_at_other_thresholds);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
