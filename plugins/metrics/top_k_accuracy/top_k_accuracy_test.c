/* top_k_accuracy_test.c - the metric through its entry function, against values worked out by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../metric_check.h"

START_TEST(targets_among_the_k_largest_count)
{
    const float x[] = {0.1f, 0.9f, 0.5f, 0.2f, 4.0f, 3.0f, 2.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f};
    const int64_t y[] = {2, 2, 1};
    test_settings g;
    gauge m;
    test_settings_init(&g);
    test_settings_int(&g, "k", 2);
    gauge_open(&m, "top_k_accuracy", &g);
    gauge_add(&m, x, y, 1, 4); /* second: right */
    ck_assert_close(gauge_read(&m), 1.0, 0.0);
    gauge_add(&m, x + 4, y + 1, 2, 4); /* third: wrong; second of a tie: right */
    ck_assert_close(gauge_read(&m), 2.0 / 3.0, 1e-15);
    subject_close(&m.subject);
}
END_TEST

START_TEST(a_k_of_all_classes_takes_all_but_nan)
{
    const float x[] = {0.0f, 1.0f, NAN, 1.0f};
    const int64_t y[] = {0, 0};
    test_settings g;
    gauge m;
    test_settings_init(&g);
    test_settings_int(&g, "k", 2);
    gauge_open(&m, "top_k_accuracy", &g);
    gauge_add(&m, x, y, 2, 2);
    ck_assert_close(gauge_read(&m), 0.5, 0.0);
    subject_close(&m.subject);
}
END_TEST

START_TEST(a_k_beyond_the_classes_is_refused)
{
    float x[] = {0.0f, 1.0f};
    int64_t y[] = {0};
    const tutti_tensor outputs = {x, {{1, 2}, 2, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_tensor targets = {y, {{1}, 1, TUTTI_I64}, TUTTI_DEVICE_CPU, 0};
    const tutti_metric_input in = {sizeof in, 1, &outputs, &targets, 1, 0, 0.0, 1};
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    gauge m;
    test_settings_init(&g);
    test_settings_int(&g, "k", 3);
    gauge_open(&m, "top_k_accuracy", &g);
    (void)m.table->update(m.subject.self, &in, &err);
    ck_assert_error(err, TUTTI_E_RANGE,
                    "top_k_accuracy: k is 3, want at most 2: outputs have 2 classes");
    subject_close(&m.subject);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_int(&g, "k", 2);
    gauge_refusals("top_k_accuracy", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("top_k_accuracy");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, targets_among_the_k_largest_count);
    tcase_add_test(tc, a_k_of_all_classes_takes_all_but_nan);
    tcase_add_test(tc, a_k_beyond_the_classes_is_refused);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
