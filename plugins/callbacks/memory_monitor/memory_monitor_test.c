/* memory_monitor_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run_check.h"
#include "tutti/world.h"

#include <stdio.h>
#include <stdlib.h>

static stage run;
static subject it;

/* Two processes, the other with three times the memory. */
static int32_t rank_of(void *ctx)
{
    (void)ctx;
    return 0;
}
static int32_t size_of(void *ctx)
{
    (void)ctx;
    return 2;
}
static tutti_status gather(void *ctx, const void *mine, void *all, uint64_t bytes,
                           tutti_error *err)
{
    (void)ctx;
    (void)err;
    memcpy(all, mine, bytes);
    for (uint64_t k = 0; k < bytes / sizeof(double); k++)
        ((double *)all)[bytes / sizeof(double) + k] = 3.0 * ((const double *)mine)[k];
    return TUTTI_OK;
}
static const tutti_world_v1 two = {
    .struct_size = sizeof two, .rank = rank_of, .size = size_of, .gather = gather};
static int64_t every; /* dist_aggregate_batch_interval; 0: null */

static void open_it(const char *only)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    if (only) {
        tutti_param *items = test_settings_list(&g, "memory_keys", TUTTI_PARAM_ENUM, 1);
        items[0].s = only;
    } else {
        test_settings_null(&g, "memory_keys");
    }
    if (every)
        test_settings_int(&g, "dist_aggregate_batch_interval", every);
    else
        test_settings_null(&g, "dist_aggregate_batch_interval");
    stage_init(&run);
    run.services[6] = (service){TUTTI_WORLD_V1, &two};
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "memory_monitor", &g,
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

/* Touching 64 MB raises what is in use by as much; 4 MB for what else may happen. */
START_TEST(memory_that_is_touched_is_counted)
{
    const size_t bytes = 64000000;
    open_it(NULL);
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_TRAIN_BATCH);
    ck_assert_uint_eq(run.nvalues, 4);
    const double before = value("memory/current_allocated_mem");
    ck_assert(before > 0.0 && before <= value("memory/peak_allocated_mem"));
    ck_assert(before <= value("memory/current_reserved_mem"));
    ck_assert(value("memory/current_reserved_mem") <= value("memory/peak_reserved_mem"));
    volatile char *held = malloc(bytes);
    ck_assert_ptr_nonnull((const void *)held);
    for (size_t k = 0; k < bytes; k += 512)
        held[k] = 1;
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_TRAIN_BATCH);
    ck_assert_close(value("memory/current_allocated_mem") - before, 0.064, 0.004);
    free((void *)held);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(processes_are_summed_up_at_the_interval)
{
    every = 2;
    open_it("peak_reserved_mem");
    stage_next_batch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_TRAIN_BATCH);
    ck_assert_uint_eq(run.nvalues, 1);
    stage_next_batch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_TRAIN_BATCH);
    const double mine = value("memory/peak_reserved_mem");
    ck_assert_close(value("memory/peak_reserved_mem_avg"), 2.0 * mine, 1e-12);
    ck_assert_close(value("memory/peak_reserved_mem_min"), mine, 1e-12);
    ck_assert_close(value("memory/peak_reserved_mem_max"), 3.0 * mine, 1e-12);
    every = 0;
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(one_number_can_be_asked_for)
{
    open_it("peak_allocated_mem");
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_TRAIN_BATCH);
    ck_assert_uint_eq(run.nvalues, 1);
    const double v = value("memory/peak_allocated_mem");
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%.5g", v);
    ck_assert_close(v, strtod(digits, NULL), 0.0);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory_monitor");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, memory_that_is_touched_is_counted);
    tcase_add_test(tc, processes_are_summed_up_at_the_interval);
    tcase_add_test(tc, one_number_can_be_asked_for);
    return tutti_run(suite);
}
