/* inverse_root_test.c - the scheduler, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/scheduler.h"

START_TEST(the_factor_falls_with_the_root)
{
    const tutti_timestamp now = {.struct_size = sizeof now, .batch = 30};
    const tutti_schedule when = {
        .struct_size = sizeof when, .now = &now, .dataloader_len = 4, .scale_ratio = 1};
    tutti_error err = TUTTI_ERROR_INIT;
    double factor = 0;
    subject s;
    test_settings g;
    test_settings_init(&g);
    test_settings_int(&g, "batches", 10);
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_SCHEDULER, "inverse_root", &g, NULL, &err),
        err);
    const tutti_scheduler_v1 *table =
        (const tutti_scheduler_v1 *)subject_query(&s, TUTTI_SCHEDULER_V1);
    ck_assert_ok(table->multiplier(s.self, &when, &factor, &err), err);
    ck_assert(factor == 0.5);
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inverse_root");
    TCase *t = tcase_create("inverse_root");
    tcase_add_test(t, the_factor_falls_with_the_root);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
