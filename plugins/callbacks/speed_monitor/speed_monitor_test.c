/* speed_monitor_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "run_check.h"
#include "tutti/plan.h"
#include "tutti/stateful.h"
#include "tutti/world.h"

static stage run;
static subject it;

static int32_t size_of(void *ctx)
{
    (void)ctx;
    return 4;
}
static const tutti_world_v1 four = {.struct_size = sizeof four, .size = size_of};
static int together; /* four processes */
static double batch_flops;

static double flops_of(void *ctx)
{
    (void)ctx;
    return batch_flops;
}
static const tutti_plan_v1 counting = {.struct_size = sizeof counting, .flops = flops_of};
static int counts;       /* the host has tutti.plan/1 */
static double available; /* gpu_flops_available; 0: not set */

static void open_it(int64_t window)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_int(&g, "window_size", window);
    test_settings_enum(&g, "time_unit", "minutes", 1);
    if (available > 0.0)
        test_settings_float(&g, "gpu_flops_available", available);
    stage_init(&run);
    if (counts)
        run.services[6] = (service){TUTTI_PLAN_V1, &counting};
    if (together)
        run.services[6] = (service){TUTTI_WORLD_V1, &four};
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "speed_monitor", &g,
                              run.services, &err),
                 err);
}

static double value(const char *name)
{
    double v = NAN;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(stage_metric(&run, name, &v, &err), err);
    return v;
}

START_TEST(rates_come_once_the_window_is_full)
{
    open_it(2);
    for (int k = 0; k < 2; k++) {
        stage_next_batch(&run);
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
        ck_assert_uint_eq(run.nvalues, 3); /* the times alone */
    }
    run.time.total_ns += 20000000; /* this batch takes 40 ms */
    stage_next_batch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    /* 2 batches of 10 samples in 60 ms; 1e-9: a few roundings */
    ck_assert_close(value("throughput/batches_per_sec"), 2 / 0.06, 1e-9);
    ck_assert_close(value("throughput/device/samples_per_sec"), 20 / 0.06, 1e-9);
    ck_assert_uint_eq(run.nvalues, 7); /* no tokens */
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(rates_of_a_device_are_a_processs_share)
{
    together = 1;
    open_it(1);
    for (int k = 0; k < 2; k++) {
        stage_next_batch(&run);
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    }
    ck_assert_close(value("throughput/device/samples_per_sec"),
                    value("throughput/samples_per_sec") / 4, 1e-9);
    ck_assert_close(value("throughput/device/batches_per_sec"),
                    value("throughput/batches_per_sec") / 4, 1e-9);
    together = 0;
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* The first batch's operations are before the window, as upstream's. */
START_TEST(operations_are_those_within_the_window)
{
    counts = 1;
    available = _i ? 4e9 : 0.0;
    open_it(2);
    for (int k = 0; k < 3; k++) {
        batch_flops = 1e6 * (k + 1);
        stage_next_batch(&run);
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    }
    ck_assert_close(value("throughput/flops_per_sec"),
                    (2e6 + 3e6) / 2 * value("throughput/batches_per_sec"), 1e-9);
    ck_assert_close(value("throughput/device/flops_per_sec"), value("throughput/flops_per_sec"),
                    1e-12);
    ck_assert_uint_eq(run.nvalues, 3 + 4 + 2 + (uint32_t)_i);
    if (_i)
        ck_assert_close(value("throughput/device/mfu"),
                        value("throughput/device/flops_per_sec") / 4e9, 1e-12);
    counts = 0;
    available = 0.0;
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(times_are_in_the_unit_and_evaluations_are_kept)
{
    open_it(100);
    run.eval_time.total_ns = 30000000000;
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    stage_next_batch(&run);
    run.time.total_ns = 90000000000;
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    ck_assert_close(value("time/train"), 1.5, 1e-12);
    ck_assert_close(value("time/val"), 0.5, 1e-12);
    ck_assert_close(value("time/total"), 2.0, 1e-12);
    const tutti_stateful_v1 *table = subject_query(&it, TUTTI_STATEFUL_V1);
    tutti_state_item item;
    uint32_t n = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(table->items(it.self, &item, 1, &n, &err), err);
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(item.name, "eval_ns");
    ck_assert_int_eq(*(const int64_t *)item.tensor.data, 30000000000);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("speed_monitor");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, rates_come_once_the_window_is_full);
    tcase_add_test(tc, rates_of_a_device_are_a_processs_share);
    tcase_add_loop_test(tc, operations_are_those_within_the_window, 0, 2);
    tcase_add_test(tc, times_are_in_the_unit_and_evaluations_are_kept);
    return tutti_run(suite);
}
