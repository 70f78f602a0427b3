/* exponential_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../schedule_check.h"

START_TEST(the_factor_falls_by_gamma_each_period)
{
    test_settings g;
    course c;
    test_settings_init(&g);
    test_settings_float(&g, "gamma", 0.25);
    test_settings_time(&g, "decay_period", 1, TUTTI_UNIT_EPOCH);
    course_open(&c, PLUGIN_PATH, "exponential", &g, NULL);
    ck_assert_factor(&c, 0, 1.0);
    ck_assert_factor(&c, 50, 0.5);
    ck_assert_factor(&c, 100, 0.25);
    ck_assert_factor(&c, 200, 0.0625);
    subject_close(&c.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exponential");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_factor_falls_by_gamma_each_period);
    return tutti_run(suite);
}
