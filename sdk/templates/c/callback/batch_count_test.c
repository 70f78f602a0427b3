/* batch_count_test.c - the callback, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/metrics.h"

static double logged;

static void log_values(void *ctx, const tutti_named_value *values, uint32_t count)
{
    (void)ctx;
    ck_assert_uint_eq(count, 1);
    logged = values[0].value;
}

static const tutti_metrics_v1 metrics = {.struct_size = sizeof metrics, .log = log_values};
static const service services[] = {{TUTTI_METRICS_V1, &metrics}, {NULL, NULL}};

START_TEST(every_second_batch_is_logged)
{
    const tutti_event event = {
        .struct_size = sizeof event, .id = TUTTI_EVENT_BATCH_END, .name = "batch_end"};
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    test_settings g;
    test_settings_init(&g);
    test_settings_int(&g, "every", 2);
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "batch_count", &g, services, &err),
        err);
    for (int batch = 1; batch <= 5; batch++)
        ck_assert_ok(s.calls->run_event(s.self, &event, &err), err);
    ck_assert(logged == 4.0);
    subject_close(&s);
}
END_TEST

START_TEST(a_host_without_metrics_is_refused)
{
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_CALLBACK, "batch_count", NULL,
                           TUTTI_E_UNSUPPORTED,
                           "batch_count: this host has no tutti.metrics/1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batch_count");
    TCase *t = tcase_create("batch_count");
    tcase_add_test(t, every_second_batch_is_logged);
    tcase_add_test(t, a_host_without_metrics_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
