/* cosine_annealing_warm_restarts_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../schedule_check.h"

static void restarts(course *c, test_settings *g, double t_mult)
{
    test_settings_init(g);
    test_settings_float(g, "alpha_f", 0.0);
    test_settings_float(g, "t_mult", t_mult);
    test_settings_time(g, "t_0", 30, TUTTI_UNIT_BATCH);
    course_open(c, PLUGIN_PATH, "cosine_annealing_warm_restarts", g, NULL);
}

START_TEST(intervals_of_one_length_repeat)
{
    test_settings g;
    course c;
    restarts(&c, &g, 1.0);
    ck_assert_factor(&c, 0, 1.0);
    ck_assert_factor(&c, 10, 0.75);
    ck_assert_factor(&c, 20, 0.25);
    ck_assert_factor(&c, 30, 1.0);
    ck_assert_factor(&c, 45, 0.5);
    ck_assert_factor(&c, INT64_C(30000000010), 0.75); /* at once, however late */
    subject_close(&c.subject);
}
END_TEST

START_TEST(intervals_grow_by_t_mult)
{
    test_settings g;
    course c;
    restarts(&c, &g, 2.0);
    ck_assert_factor(&c, 30, 1.0);
    ck_assert_factor(&c, 60, 0.5);
    ck_assert_factor(&c, 90, 1.0);
    ck_assert_factor(&c, 130, 0.75);
    subject_close(&c.subject);
}
END_TEST

START_TEST(intervals_that_shrink_to_nothing_are_refused)
{
    test_settings g;
    course c;
    restarts(&c, &g, 0.5);
    ck_assert_factor(&c, 30, 1.0);
    tutti_error err = TUTTI_ERROR_INIT;
    double factor = 77.0;
    ck_assert_int_eq(course_ask(&c, 60, &factor, &err), TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE,
                    "cosine_annealing_warm_restarts: t_mult shrinks the interval to nothing "
                    "before 60ba");
    subject_close(&c.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cosine_annealing_warm_restarts");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, intervals_of_one_length_repeat);
    tcase_add_test(tc, intervals_grow_by_t_mult);
    tcase_add_test(tc, intervals_that_shrink_to_nothing_are_refused);
    return tutti_run(suite);
}
