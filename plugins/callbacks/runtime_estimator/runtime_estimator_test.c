/* runtime_estimator_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#include "run_check.h"
#include "stateful_check.h"

static stage run;
static subject it;
static test_settings g;

/* A run of 3 epochs of 4 batches of 20 ms. */
static void open_it(int64_t skip, const char *unit, int64_t index)
{
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_int(&g, "skip_batches", skip);
    test_settings_enum(&g, "time_unit", unit, index);
    stage_init(&run);
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "runtime_estimator", &g,
                              run.services, &err),
                 err);
}

static void batch(int64_t extra_ns)
{
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    stage_next_batch(&run);
    run.time.total_ns += extra_ns;
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
}

static void evaluate(double seconds)
{
    run.label = "test";
    run.eval_time.total_ns = (int64_t)(seconds * 1e9);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    run.label = NULL;
}

START_TEST(what_is_left_takes_as_long_as_what_was)
{
    open_it(1, "seconds", 0);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_str_eq(run.told.hyper, "time/remaining_estimate_unit=\"seconds\"");
    batch(5000000000); /* slow, and skipped */
    ck_assert_uint_eq(run.nvalues, 0);
    batch(0);
    ck_assert_str_eq(run.values[0].name, "time/remaining_estimate");
    ck_assert_close(run.values[0].value, 10 * 0.02, 1e-9);
    batch(40000000); /* 20 and 60 ms: a mean of 40 */
    ck_assert_close(run.values[0].value, 9 * 0.04, 1e-9);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(an_epochs_true_length_counts_once_it_is_known)
{
    open_it(0, "minutes", 1);
    run.len = -1; /* nothing says it */
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    for (int k = 0; k < 4; k++)
        batch(0); /* in the first epoch only whole epochs tell: nothing */
    ck_assert_uint_eq(run.nvalues, 0);
    stage_next_epoch(&run);
    batch(0);
    ck_assert_close(run.values[0].value, 7 * 0.02 / 60.0, 1e-9);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* Evaluations of 9, 1 and 1 seconds after each quarter: one of 1 second is still to come. */
START_TEST(evaluations_to_come_are_counted_without_their_slow_first)
{
    open_it(0, "seconds", 0);
    evaluate(1000.0); /* before training: not of this run */
    for (int k = 1; k <= 9; k++) {
        batch(0);
        if (k % 4 == 0)
            stage_next_epoch(&run);
        if (k % 3 == 0)
            evaluate(k == 3 ? 9.0 : 1.0);
        if (k == 4) /* one so far: three more like it */
            ck_assert_close(run.values[0].value, 8 * 0.02 + 3 * 9.0, 1e-9);
    }
    batch(0);
    ck_assert_close(run.values[0].value, 2 * 0.02 + 1.0, 1e-9);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* How often an evaluation comes is the whole run's: of four, the third is the first of this process. */
START_TEST(evaluations_before_a_resume_count)
{
    open_it(0, "seconds", 0);
    for (int k = 1; k <= 9; k++) {
        batch(0);
        if (k % 4 == 0)
            stage_next_epoch(&run);
        if (k % 3 == 0)
            evaluate(k < 9 ? 9.0 : 1.0);
        if (k == 6) { /* a signal has cut another one */
            run.cut = 1;
            evaluate(50.0);
            run.cut = 0;
            stateful_resume(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, &g);
        }
    }
    batch(0);
    ck_assert_close(run.values[0].value, 2 * 0.02 + 1.0, 1e-9);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_run_without_an_end_has_no_estimate)
{
    open_it(0, "seconds", 0);
    run.max.count = 0;
    batch(0);
    ck_assert_uint_eq(run.nvalues, 0);
    ck_assert_str_eq(run.noted,
                     "runtime_estimator is off: nothing says how long the run will be");
    run.noted[0] = '\0';
    batch(0);
    ck_assert_str_eq(run.noted, "");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("runtime_estimator");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, what_is_left_takes_as_long_as_what_was);
    tcase_add_test(tc, an_epochs_true_length_counts_once_it_is_known);
    tcase_add_test(tc, evaluations_to_come_are_counted_without_their_slow_first);
    tcase_add_test(tc, evaluations_before_a_resume_count);
    tcase_add_test(tc, a_run_without_an_end_has_no_estimate);
    return tutti_run(suite);
}
