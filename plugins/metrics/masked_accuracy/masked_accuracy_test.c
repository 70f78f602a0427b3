/* masked_accuracy_test.c - the metric through its entry function, against values worked out by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../language_check.h"

static gauge m;
static test_settings g;

/* Of the three tokens that count the first is right, the second wrong, the third a tie that the other
 * class wins. */
START_TEST(tokens_that_count_weigh_the_same)
{
    tutti_error err = TUTTI_ERROR_INIT;
    language_settings(&g);
    gauge_open(&m, "masked_accuracy", &g);
    ck_assert_ok(language_feed(&m, 0, 1, &err), err); /* one token of two */
    ck_assert_close(gauge_read(&m), 1.0, 0.0);
    ck_assert_ok(language_feed(&m, 1, 1, &err), err);
    ck_assert_close(gauge_read(&m), 1.0 / 3.0, 1e-15);
    m.table->reset(m.subject.self);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
}
END_TEST

START_TEST(without_a_class_to_ignore_all_must_be_classes)
{
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_null(&g, "ignore_index");
    gauge_open(&m, "masked_accuracy", &g);
    ck_assert_int_eq(language_feed(&m, 0, 2, &err), TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE, "masked_accuracy: target 1 is class -100, want 0 to 1");
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
}
END_TEST

START_TEST(any_class_can_be_the_ignored_one)
{
    const float x[] = {0.0f, 9.0f, 9.0f, 0.0f};
    const int64_t y[] = {1, 0};
    test_settings_init(&g);
    test_settings_int(&g, "ignore_index", 1);
    gauge_open(&m, "masked_accuracy", &g);
    gauge_add(&m, x, y, 1, 2);
    ck_assert(isnan(gauge_read(&m))); /* nothing counted yet */
    gauge_add(&m, x, y, 2, 2);
    ck_assert_close(gauge_read(&m), 1.0, 0.0);
    subject_close(&m.subject);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    language_settings(&g);
    gauge_refusals("masked_accuracy", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("masked_accuracy");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, tokens_that_count_weigh_the_same);
    tcase_add_test(tc, without_a_class_to_ignore_all_must_be_classes);
    tcase_add_test(tc, any_class_can_be_the_ignored_one);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
