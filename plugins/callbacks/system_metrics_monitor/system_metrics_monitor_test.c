/* system_metrics_monitor_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run_check.h"

#include <time.h>
#include <unistd.h>

static stage run;
static subject it;

static void open_it(void)
{
    tutti_error err = TUTTI_ERROR_INIT;
    stage_init(&run);
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "system_metrics_monitor",
                              NULL, run.services, &err),
                 err);
}

static double value(const char *name)
{
    double v = NAN;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(stage_metric(&run, name, &v, &err), err);
    return v;
}

START_TEST(the_numbers_are_those_of_the_machine)
{
    open_it();
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    const double pages = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    ck_assert_close(value("cpu_memory_total"), pages, 0.01 * pages);
    ck_assert(value("cpu_memory_used") > 0.0 && value("cpu_memory_used") < pages);
    ck_assert_close(value("cpu_memory_percent"),
                    100.0 * value("cpu_memory_used") / value("cpu_memory_total"), 1e-9);
    ck_assert(value("disk_memory_used") <= value("disk_memory_total"));
    ck_assert(value("disk_memory_percent") >= 0.0 && value("disk_memory_percent") <= 100.0);
    ck_assert(value("network_bytes_recv") >= 0.0);
    ck_assert_uint_eq(run.nvalues, 1 + 11 + 4 + 8);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* While this process spins for 0.3 s, at least half of one processor's time is busy. */
START_TEST(a_busy_processor_shows)
{
    open_it();
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    const clock_t start = clock();
    while (clock() - start < 3 * CLOCKS_PER_SEC / 10)
        ;
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_BATCH_START);
    const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    ck_assert_double_ge(value("cpu_percentage"), 50.0 / cores);
    ck_assert_double_le(value("cpu_percentage"), 100.0);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("system_metrics_monitor");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_numbers_are_those_of_the_machine);
    tcase_add_test(tc, a_busy_processor_shows);
    return tutti_run(suite);
}
