/* calibration_error_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../class_counts_check.h"

static double value_of(const char *norm)
{
    static float x[COUNTS_ROWS * COUNTS_CLASSES];
    static int64_t y[COUNTS_ROWS];
    test_settings g;
    gauge m;
    counts_fill(x, y);
    test_settings_init(&g);
    test_settings_int(&g, "n_bins", 15);
    test_settings_int(&g, "ignore_index", -100);
    test_settings_enum(&g, "norm", norm, norm[1] == '1' ? 0 : norm[1] == '2' ? 1 : 2);
    gauge_open(&m, "calibration_error", &g);
    gauge_add(&m, x, y, 17, COUNTS_CLASSES);
    gauge_add(&m, x + 17 * COUNTS_CLASSES, y + 17, COUNTS_ROWS - 17, COUNTS_CLASSES);
    const double value = gauge_read(&m);
    m.table->reset(m.subject.self);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
    return value;
}

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    ck_assert_close(value_of("l1"), 0.119508937, 1e-6);
    ck_assert_close(value_of("l2"), 0.155091912, 1e-6);
    ck_assert_close(value_of("max"), 0.315663487, 1e-6);
}
END_TEST

/* A softmax that rounds to 1. */
START_TEST(a_confidence_of_one_has_its_bin)
{
    const float x[] = {0.0f, 200.0f, 0.0f, 200.0f};
    const int64_t y[] = {1, 0};
    test_settings g;
    gauge m;
    test_settings_init(&g);
    test_settings_int(&g, "n_bins", 4);
    gauge_open(&m, "calibration_error", &g);
    gauge_add(&m, x, y, 2, 2);
    ck_assert_close(gauge_read(&m), 0.5, 0.0);
    subject_close(&m.subject);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_int(&g, "n_bins", 15);
    gauge_refusals("calibration_error", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("calibration_error");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, a_confidence_of_one_has_its_bin);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
