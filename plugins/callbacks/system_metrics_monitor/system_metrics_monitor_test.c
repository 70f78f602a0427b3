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
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* The fields of psutil.virtual_memory, disk_usage and net_io_counters on Linux, which upstream logs under their names
 * behind cpu_memory, disk_memory and network. */
START_TEST(the_names_are_upstreams)
{
    static const char *const names[] = {
        "cpu_percentage",       "cpu_memory_total",     "cpu_memory_available",
        "cpu_memory_percent",   "cpu_memory_used",      "cpu_memory_free",
        "cpu_memory_active",    "cpu_memory_inactive",  "cpu_memory_buffers",
        "cpu_memory_cached",    "cpu_memory_shared",    "cpu_memory_slab",
        "disk_memory_total",    "disk_memory_used",     "disk_memory_free",
        "disk_memory_percent",  "network_bytes_sent",   "network_bytes_recv",
        "network_packets_sent", "network_packets_recv", "network_errin",
        "network_errout",       "network_dropin",       "network_dropout"};
    const uint32_t n = sizeof names / sizeof *names;
    open_it();
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    for (uint32_t k = 0; k < n; k++)
        ck_assert_msg(isfinite(value(names[k])), "%s is %g", names[k], value(names[k]));
    ck_assert_uint_eq(run.nvalues, n); /* and no others */
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
    tcase_add_test(tc, the_names_are_upstreams);
    tcase_add_test(tc, a_busy_processor_shows);
    return tutti_run(suite);
}
