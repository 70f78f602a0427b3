/* language_cross_entropy_test.c - the metric through its entry function, against values worked out by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../language_check.h"

START_TEST(all_tokens_weigh_the_same_and_ignored_ones_nothing)
{
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    gauge m;
    language_settings(&g);
    gauge_open(&m, "language_cross_entropy", &g);
    ck_assert_ok(language_feed(&m, 0, 2, &err), err);
    ck_assert_close(gauge_read(&m), LANGUAGE_SUM / 3.0, 1e-7); /* log 3 is rounded to f32 */
    m.table->reset(m.subject.self);
    ck_assert_ok(language_feed(&m, 0, 1, &err), err); /* one token of two */
    ck_assert_close(gauge_read(&m), -log(0.75), 1e-7);
    ck_assert_ok(language_feed(&m, 1, 1, &err), err);
    ck_assert_close(gauge_read(&m), LANGUAGE_SUM / 3.0, 1e-7);
    subject_close(&m.subject);
}
END_TEST

START_TEST(without_a_class_to_ignore_all_must_be_classes)
{
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    gauge m;
    test_settings_init(&g);
    test_settings_null(&g, "ignore_index");
    gauge_open(&m, "language_cross_entropy", &g);
    ck_assert_int_eq(language_feed(&m, 0, 2, &err), TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE,
                    "language_cross_entropy: target 1 is class -100, want 0 to 1");
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
}
END_TEST

START_TEST(any_class_can_be_the_ignored_one)
{
    const float x[] = {0.0f, 0.0f, 9.0f, 0.0f};
    const int64_t y[] = {0, 1};
    test_settings g;
    gauge m;
    test_settings_init(&g);
    test_settings_int(&g, "ignore_index", 1);
    gauge_open(&m, "language_cross_entropy", &g);
    gauge_add(&m, x + 2, y + 1, 1, 2);
    ck_assert(isnan(gauge_read(&m))); /* nothing counted yet */
    gauge_add(&m, x, y, 2, 2);
    ck_assert_close(gauge_read(&m), -log(0.5), 1e-12);
    subject_close(&m.subject);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    test_settings g;
    language_settings(&g);
    gauge_refusals("language_cross_entropy", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("language_cross_entropy");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, all_tokens_weigh_the_same_and_ignored_ones_nothing);
    tcase_add_test(tc, without_a_class_to_ignore_all_must_be_classes);
    tcase_add_test(tc, any_class_can_be_the_ignored_one);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
