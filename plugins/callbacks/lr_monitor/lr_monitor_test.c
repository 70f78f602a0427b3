/* lr_monitor_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run_check.h"

START_TEST(every_group_is_logged_under_the_optimizers_name)
{
    stage run;
    subject it;
    test_settings none;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&none);
    stage_init(&run);
    run.lr[0] = 0.1;
    run.lr[1] = 0.025;
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "lr_monitor", &none,
                              run.services, &err),
                 err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    ck_assert_uint_eq(run.nvalues, 2);
    ck_assert_str_eq(run.values[0].name, "lr-sgd/group0");
    ck_assert_close(run.values[0].value, 0.1, 0.0);
    ck_assert_str_eq(run.values[1].name, "lr-sgd/group1");
    ck_assert_close(run.values[1].value, 0.025, 0.0);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_host_without_metrics_is_refused)
{
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_CALLBACK, "lr_monitor", NULL,
                           TUTTI_E_UNSUPPORTED, "lr_monitor: this host has no tutti.metrics/1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lr_monitor");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, every_group_is_logged_under_the_optimizers_name);
    tcase_add_test(tc, a_host_without_metrics_is_refused);
    return tutti_run(suite);
}
