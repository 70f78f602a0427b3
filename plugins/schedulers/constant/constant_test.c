/* constant_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../schedule_check.h"

START_TEST(alpha_holds_until_t_max)
{
    test_settings g;
    course c;
    test_settings_init(&g);
    test_settings_float(&g, "alpha", 0.25);
    test_settings_time(&g, "t_max", 20, TUTTI_UNIT_BATCH);
    course_open(&c, PLUGIN_PATH, "constant", &g, NULL);
    ck_assert_factor(&c, 0, 0.25);
    ck_assert_factor(&c, 19, 0.25);
    ck_assert_factor(&c, 20, 1.0);
    subject_close(&c.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("constant");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, alpha_holds_until_t_max);
    return tutti_run(suite);
}
