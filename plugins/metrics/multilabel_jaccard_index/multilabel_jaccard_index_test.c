/* multilabel_jaccard_index_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../labels_check.h"

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    const double want[3 + LABEL_COUNT] = {0.300084174, 0.346938789, 0.425016820, 0.227272734,
                                          0.518518507, 0.454545468, 0.000000000};
    label_values("multilabel_jaccard_index", want);
}
END_TEST

START_TEST(so_are_those_at_other_thresholds)
{
    label_values_at("multilabel_jaccard_index", 0.307941169, 0.287955463);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    label_refusals("multilabel_jaccard_index");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("multilabel_jaccard_index");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, so_are_those_at_other_thresholds);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
