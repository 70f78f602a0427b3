/* multilabel_average_precision_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../labels_check.h"

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    const double want[3 + LABEL_COUNT] = {0.519326389, 0.625338554, 0.704749584, 0.606346488,
                                          0.752055645, 0.718903363, 0.000000000};
    label_values("multilabel_average_precision", want);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    label_refusals("multilabel_average_precision");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("multilabel_average_precision");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
