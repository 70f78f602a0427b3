/* step_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../schedule_check.h"

START_TEST(each_step_multiplies_by_gamma)
{
    test_settings g;
    course c;
    test_settings_init(&g);
    test_settings_time(&g, "step_size", 10, TUTTI_UNIT_BATCH);
    test_settings_float(&g, "gamma", 0.5);
    course_open(&c, PLUGIN_PATH, "step", &g, NULL);
    ck_assert_factor(&c, 9, 1.0);
    ck_assert_factor(&c, 10, 0.5);
    ck_assert_factor(&c, 35, 0.125);
    c.scale_ratio = 0.5;
    ck_assert_factor(&c, 5, 0.5);
    subject_close(&c.subject);
}
END_TEST

START_TEST(a_step_that_comes_to_nothing_is_refused)
{
    test_settings g;
    course c;
    test_settings_init(&g);
    test_settings_time(&g, "step_size", 1, TUTTI_UNIT_BATCH);
    test_settings_float(&g, "gamma", 0.5);
    course_open(&c, PLUGIN_PATH, "step", &g, NULL);
    c.scale_ratio = 0.5;
    ck_assert_refuses(&c, TUTTI_E_ARG, "step: step_size comes to 0ba in this run, want more");
    subject_close(&c.subject);
}
END_TEST

START_TEST(the_wall_clock_is_refused)
{
    test_settings g;
    course c;
    test_settings_init(&g);
    test_settings_time(&g, "step_size", 10, TUTTI_UNIT_SECOND);
    test_settings_float(&g, "gamma", 0.5);
    course_open(&c, PLUGIN_PATH, "step", &g, NULL);
    ck_assert_refuses(
        &c, TUTTI_E_ARG,
        "step: step_size is in sec, want iter, ep, ba, sp, tok or dur: a schedule "
        "cannot follow the wall clock");
    subject_close(&c.subject);
}
END_TEST

START_TEST(epochs_need_a_length_of_the_data)
{
    test_settings g;
    course c;
    test_settings_init(&g);
    test_settings_time(&g, "step_size", 2, TUTTI_UNIT_EPOCH);
    test_settings_float(&g, "gamma", 0.5);
    course_open(&c, PLUGIN_PATH, "step", &g, NULL);
    ck_assert_factor(&c, 199, 1.0);
    ck_assert_factor(&c, 200, 0.5);
    c.dataloader_len = -1;
    ck_assert_refuses(&c, TUTTI_E_ARG,
                      "step: step_size counts epochs, but the data does not say how many "
                      "batches an epoch has");
    subject_close(&c.subject);
}
END_TEST

START_TEST(negative_times_are_refused)
{
    test_settings g;
    course c;
    test_settings_init(&g);
    test_settings_time(&g, "step_size", -2, TUTTI_UNIT_BATCH);
    course_open(&c, PLUGIN_PATH, "step", &g, NULL);
    ck_assert_refuses(&c, TUTTI_E_RANGE, "step: step_size is negative, want 0 or more");
    subject_close(&c.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("step");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, each_step_multiplies_by_gamma);
    tcase_add_test(tc, a_step_that_comes_to_nothing_is_refused);
    tcase_add_test(tc, the_wall_clock_is_refused);
    tcase_add_test(tc, epochs_need_a_length_of_the_data);
    tcase_add_test(tc, negative_times_are_refused);
    return tutti_run(suite);
}
