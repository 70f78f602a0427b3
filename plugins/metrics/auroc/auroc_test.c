/* auroc_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../class_counts_check.h"

/* The metric of the rows of class_counts_check.h in two batches; `which` 0: macro, 1: weighted, then each class. */
static double value_of(int which)
{
    static float x[COUNTS_ROWS * COUNTS_CLASSES];
    static int64_t y[COUNTS_ROWS];
    const int64_t first = 23;
    test_settings g;
    gauge m;
    counts_fill(x, y);
    test_settings_init(&g);
    test_settings_int(&g, "num_classes", COUNTS_CLASSES);
    test_settings_enum(&g, "average", which == 1 ? "weighted" : "macro", which == 1);
    test_settings_int(&g, "thresholds", 20);
    test_settings_int(&g, "ignore_index", -100);
    test_settings_null(&g, "class");
    if (which > 1)
        test_settings_int(&g, "class", which - 2);
    gauge_open(&m, "auroc", &g);
    gauge_add(&m, x, y, first, COUNTS_CLASSES);
    gauge_add(&m, x + first * COUNTS_CLASSES, y + first, COUNTS_ROWS - first, COUNTS_CLASSES);
    const double value = gauge_read(&m);
    m.table->reset(m.subject.self);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
    return value;
}

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    static const double want[] = {0.619250536, 0.761566699, 0.706349194, 0.635416627,
                                  0.850332558, 0.806390941, 0.717013955, 0.000000000};
    for (int k = 0; k < (int)(sizeof want / sizeof *want); k++)
        ck_assert_close(value_of(k), want[k], 1e-6);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    static const float x[4] = {1, 2, 3, 4};
    static const int64_t y[2] = {0, 1};
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    gauge m;
    test_settings_init(&g);
    test_settings_int(&g, "num_classes", 3);
    test_settings_enum(&g, "average", "macro", 0);
    test_settings_int(&g, "thresholds", 5);
    test_settings_null(&g, "class");
    gauge_refusals("auroc", &g);
    gauge_open(&m, "auroc", &g);
    ck_assert_int_eq(gauge_feed(&m, gauge_tensor(x, TUTTI_F32, 2, 2, 2),
                                gauge_tensor(y, TUTTI_I64, 1, 2, 0), &err),
                     TUTTI_E_SHAPE);
    ck_assert_error(err, TUTTI_E_SHAPE, "auroc: outputs have 2 classes, num_classes is 3");
    subject_close(&m.subject);
    test_settings_int(&g, "class", 3);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_METRIC, "auroc", &g, TUTTI_E_RANGE,
                           "auroc: class is 3, num_classes is 3");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("auroc");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
