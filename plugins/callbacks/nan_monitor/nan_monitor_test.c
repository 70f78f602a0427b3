/* nan_monitor_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run_check.h"

static stage run;
static subject it;

static void open_it(void)
{
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings none;
    test_settings_init(&none);
    stage_init(&run);
    stage_kernels(&run);
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "nan_monitor", &none,
                              run.services, &err),
                 err);
}

START_TEST(a_number_is_let_through)
{
    open_it();
    run.loss = 0.5f;
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_LOSS);
    run.loss = INFINITY;
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_LOSS);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_nan_stops_the_run)
{
    tutti_error err = TUTTI_ERROR_INIT;
    open_it();
    run.loss = NAN;
    ck_assert_int_eq(stage_event(&run, &it, TUTTI_EVENT_AFTER_LOSS, &err), TUTTI_E_NUMERIC);
    ck_assert_error(err, TUTTI_E_NUMERIC, "Train loss contains a NaN.");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_host_without_views_is_refused)
{
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_CALLBACK, "nan_monitor", NULL,
                           TUTTI_E_UNSUPPORTED,
                           "nan_monitor: this host has no tutti.device_view/1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nan_monitor");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_number_is_let_through);
    tcase_add_test(tc, a_nan_stops_the_run);
    tcase_add_test(tc, a_host_without_views_is_refused);
    return tutti_run(suite);
}
