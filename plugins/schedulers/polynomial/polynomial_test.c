/* polynomial_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../schedule_check.h"

START_TEST(a_power_of_what_is_left_leads_down_to_alpha_f)
{
    test_settings g;
    course c;
    test_settings_init(&g);
    test_settings_float(&g, "alpha_f", 0.2);
    test_settings_float(&g, "power", 2.0);
    test_settings_time(&g, "t_max", 100, TUTTI_UNIT_BATCH);
    course_open(&c, PLUGIN_PATH, "polynomial", &g, NULL);
    ck_assert_factor(&c, 0, 1.0);
    ck_assert_factor(&c, 50, 0.4);
    ck_assert_factor(&c, 100, 0.2);
    ck_assert_factor(&c, 150, 0.2);
    subject_close(&c.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("polynomial");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_power_of_what_is_left_leads_down_to_alpha_f);
    return tutti_run(suite);
}
