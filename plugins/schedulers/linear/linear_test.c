/* linear_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../schedule_check.h"

START_TEST(the_line_ends_at_t_max)
{
    test_settings g;
    course c;
    test_settings_init(&g);
    test_settings_float(&g, "alpha_i", 1.0);
    test_settings_float(&g, "alpha_f", 0.2);
    test_settings_dur(&g, "t_max", 0.5);
    course_open(&c, PLUGIN_PATH, "linear", &g, NULL);
    ck_assert_factor(&c, 0, 1.0);
    ck_assert_factor(&c, 250, 0.6);
    ck_assert_factor(&c, 500, 0.2);
    ck_assert_factor(&c, 900, 0.2);
    c.max_duration = course_time(4000, TUTTI_UNIT_SAMPLE); /* half of it is 200 batches */
    ck_assert_factor(&c, 100, 0.6);
    subject_close(&c.subject);
}
END_TEST

START_TEST(a_t_max_of_zero_is_refused)
{
    test_settings g;
    course c;
    test_settings_init(&g);
    test_settings_float(&g, "alpha_i", 1.0);
    test_settings_float(&g, "alpha_f", 0.0);
    test_settings_time(&g, "t_max", 0, TUTTI_UNIT_BATCH);
    course_open(&c, PLUGIN_PATH, "linear", &g, NULL);
    ck_assert_refuses(&c, TUTTI_E_ARG, "linear: t_max comes to 0ba in this run, want more");
    subject_close(&c.subject);
}
END_TEST

START_TEST(a_fraction_needs_a_max_duration)
{
    test_settings g;
    course c;
    test_settings_init(&g);
    test_settings_dur(&g, "t_max", 1.0);
    course_open(&c, PLUGIN_PATH, "linear", &g, NULL);
    c.max_duration = course_time(0, TUTTI_UNIT_NONE);
    ck_assert_refuses(&c, TUTTI_E_STATE,
                      "linear: t_max is in dur, but the run has no max_duration");
    subject_close(&c.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linear");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_line_ends_at_t_max);
    tcase_add_test(tc, a_t_max_of_zero_is_refused);
    tcase_add_test(tc, a_fraction_needs_a_max_duration);
    return tutti_run(suite);
}
