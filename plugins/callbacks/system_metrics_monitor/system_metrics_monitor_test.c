/* system_metrics_monitor_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run_check.h"
#include "tutti/world.h"

#include <stdbool.h>
#include <time.h>
#include <unistd.h>

static stage run;
static subject it;

static void open_with(const test_settings *g)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "system_metrics_monitor",
                              g, run.services, &err),
                 err);
}

static const char *on_cpu(void *ctx)
{
    (void)ctx;
    return "cpu";
}

static void open_it(void)
{
    stage_init(&run);
    run.tables.state.device = on_cpu;
    open_with(NULL);
}

static const char *on_cuda(void *ctx)
{
    (void)ctx;
    return "cuda";
}

/* Ranks of a world: this is the second of three.  The first tells no temperature and has half of the other numbers, the
 * third has twice as much of each. */
static int32_t three(void *ctx)
{
    (void)ctx;
    return 3;
}

static tutti_status gather(void *ctx, const void *mine, void *all, uint64_t bytes,
                           tutti_error *err)
{
    const double *in = mine;
    double *out = all;
    const uint64_t n = bytes / sizeof *in;
    (void)ctx, (void)err;
    for (uint64_t k = 0; k < n; k++) {
        out[k] = k == 2 ? (double)NAN : 0.5 * in[k];
        out[n + k] = in[k];
        out[2 * n + k] = 2.0 * in[k];
    }
    return TUTTI_OK;
}

static const tutti_world_v1 world = {
    .struct_size = sizeof world, .size = three, .gather = gather};

/* A run on a GPU, whose driver is the stand-in, loaded as CUDA's runtime loads it. */
static void *open_on_gpu(const test_settings *g, bool in_world)
{
    void *driver = dlopen(STANDIN "/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *manager = dlopen(STANDIN "/libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    ck_assert_ptr_nonnull(driver);
    ck_assert_ptr_nonnull(manager);
    stage_init(&run);
    run.tables.state.device = on_cuda;
    if (in_world)
        run.services[6] = (service){TUTTI_WORLD_V1, &world};
    open_with(g);
    return manager;
}

static uint32_t gpu_numbers(void)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < run.nvalues; k++)
        n += strstr(run.values[k].name, "_rank_") != NULL;
    return n;
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

START_TEST(a_gpus_numbers_are_the_least_and_the_most)
{
    const int *open_times;
    void *manager = open_on_gpu(NULL, false);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    ck_assert_uint_eq(gpu_numbers(), 8);
    ck_assert_close(value("min_gpu_percentage_rank_0"), 83.0, 0.0);
    ck_assert_close(value("max_gpu_percentage_rank_0"), 83.0, 0.0);
    ck_assert_close(value("max_memory_percentage_rank_0"), 41.0, 0.0);
    ck_assert_close(value("max_gpu_temperature_C_rank_0"), 64.0, 0.0);
    ck_assert_close(value("max_gpu_power_usage_W_rank_0"), 312.5, 1e-9);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_BATCH_START);
    open_times = dlsym(manager, "standin_open_times");
    ck_assert_int_eq(*open_times, 1); /* once for all events */
    subject_close(&it);
    ck_assert_int_eq(*open_times, 0);
    ck_assert_str_eq(run.noted, "");
    stage_fini(&run);
}
END_TEST

START_TEST(of_several_ranks_each_extreme_is_named)
{
    test_settings g;
    (void)open_on_gpu(NULL, true);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    ck_assert_uint_eq(gpu_numbers(), 8);
    ck_assert_close(value("min_gpu_percentage_rank_0"), 41.5, 0.0);
    ck_assert_close(value("max_gpu_percentage_rank_2"), 166.0, 0.0);
    ck_assert_close(value("min_gpu_temperature_C_rank_1"), 64.0, 0.0);
    ck_assert_close(value("max_gpu_temperature_C_rank_2"), 128.0, 0.0);
    subject_close(&it);
    stage_fini(&run);
    test_settings_init(&g);
    test_settings_bool(&g, "log_all_data", 1);
    (void)open_on_gpu(&g, true);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    ck_assert_uint_eq(gpu_numbers(), 11); /* the first has no temperature */
    ck_assert_close(value("gpu_power_usage_W_rank_0"), 156.25, 1e-9);
    ck_assert_close(value("gpu_temperature_C_rank_1"), 64.0, 0.0);
    ck_assert_close(value("memory_percentage_rank_2"), 82.0, 0.0);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(what_a_gpu_does_not_tell_is_left_out)
{
    ck_assert_int_eq(setenv("STANDIN_PART", "1", 1), 0);
    (void)open_on_gpu(NULL, false);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    ck_assert_uint_eq(gpu_numbers(), 4);
    ck_assert_close(value("min_gpu_temperature_C_rank_0"), 64.0, 0.0);
    subject_close(&it);
    stage_fini(&run);
    (void)unsetenv("STANDIN_PART");
    ck_assert_int_eq(setenv("STANDIN_NO_CONTEXT", "1", 1), 0);
    (void)open_on_gpu(NULL, true);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    ck_assert_uint_eq(gpu_numbers(), 0);
    ck_assert_str_eq(run.noted,
                     "the GPU's numbers are left out: this thread has no context of CUDA");
    run.noted[0] = '\0';
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    ck_assert_str_eq(run.noted, ""); /* once */
    ck_assert(isfinite(value("cpu_memory_total")));
    subject_close(&it);
    stage_fini(&run);
    (void)unsetenv("STANDIN_NO_CONTEXT");
}
END_TEST

START_TEST(without_a_driver_it_is_told)
{
    stage_init(&run);
    run.tables.state.device = on_cuda;
    open_with(NULL);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    ck_assert_uint_eq(gpu_numbers(), 0);
    ck_assert_str_eq(run.noted, "the GPU's numbers are left out: libcuda.so.1 is not in use");
    ck_assert_int_eq(run.noted_level, TUTTI_LOG_WARNING);
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
    tcase_add_test(tc, without_a_driver_it_is_told); /* before others load one */
    tcase_add_test(tc, the_numbers_are_those_of_the_machine);
    tcase_add_test(tc, the_names_are_upstreams);
    tcase_add_test(tc, a_gpus_numbers_are_the_least_and_the_most);
    tcase_add_test(tc, of_several_ranks_each_extreme_is_named);
    tcase_add_test(tc, what_a_gpu_does_not_tell_is_left_out);
    tcase_add_test(tc, a_busy_processor_shows);
    return tutti_run(suite);
}
