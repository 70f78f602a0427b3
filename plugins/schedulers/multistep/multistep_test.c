/* multistep_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../schedule_check.h"

START_TEST(milestones_may_be_in_any_units)
{
    const tutti_time milestones[] = {{50, 0.0, TUTTI_UNIT_BATCH, 0},
                                     {1, 0.0, TUTTI_UNIT_EPOCH, 0},
                                     {2500, 0.0, TUTTI_UNIT_SAMPLE, 0},
                                     {0, 0.5, TUTTI_UNIT_DURATION, 0}};
    test_settings g;
    course c;
    test_settings_init(&g);
    test_settings_times(&g, "milestones", milestones, 4);
    test_settings_float(&g, "gamma", 0.5);
    course_open(&c, PLUGIN_PATH, "multistep", &g, NULL);
    ck_assert_factor(&c, 49, 1.0);
    ck_assert_factor(&c, 50, 0.5);
    ck_assert_factor(&c, 100, 0.25);
    ck_assert_factor(&c, 249, 0.25);
    ck_assert_factor(&c, 250, 0.125);
    ck_assert_factor(&c, 500, 0.0625);
    subject_close(&c.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("multistep");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, milestones_may_be_in_any_units);
    return tutti_run(suite);
}
