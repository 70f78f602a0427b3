/* cosine_annealing_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../schedule_check.h"

START_TEST(half_a_cosine_leads_down_to_alpha_f)
{
    test_settings g;
    course c;
    test_settings_init(&g);
    test_settings_float(&g, "alpha_f", 0.2);
    test_settings_time(&g, "t_max", 60, TUTTI_UNIT_BATCH);
    course_open(&c, PLUGIN_PATH, "cosine_annealing", &g, NULL);
    ck_assert_factor(&c, 0, 1.0);
    ck_assert_factor(&c, 20, 0.8);
    ck_assert_factor(&c, 30, 0.6);
    ck_assert_factor(&c, 60, 0.2);
    ck_assert_factor(&c, 90, 0.2);
    subject_close(&c.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cosine_annealing");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, half_a_cosine_leads_down_to_alpha_f);
    return tutti_run(suite);
}
