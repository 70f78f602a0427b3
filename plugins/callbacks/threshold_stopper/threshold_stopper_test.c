/* threshold_stopper_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run_check.h"

static stage run;
static subject it;

static void open_it(const char *monitor, const char *label, double threshold, int on_batch)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_string(&g, "monitor", monitor);
    test_settings_string(&g, "dataloader_label", label);
    test_settings_null(&g, "comp");
    test_settings_float(&g, "threshold", threshold);
    test_settings_bool(&g, "stop_on_batch", on_batch);
    stage_init(&run);
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "threshold_stopper", &g,
                              run.services, &err),
                 err);
}

START_TEST(it_stops_past_the_threshold_and_not_at_it)
{
    open_it("accuracy", "test", 0.9, 0);
    run.label = "test";
    stage_value(&run, "metrics/test/accuracy", 0.9);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    ck_assert_str_eq(run.stopped, "");
    stage_value(&run, "metrics/test/accuracy", 0.95);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    ck_assert_str_eq(run.stopped, "threshold_stopper: accuracy of test is 0.95, past 0.9");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(batches_count_only_when_asked_for)
{
    for (int on_batch = 0; on_batch < 2; on_batch++) {
        open_it("cross_entropy", "train", 0.1, on_batch);
        stage_value(&run, "metrics/train/cross_entropy", 0.05);
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
        ck_assert_int_eq(run.stopped[0] != 0, on_batch);
        ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_END);
        ck_assert_str_eq(run.stopped,
                         "threshold_stopper: cross_entropy of train is 0.05, past 0.1");
        subject_close(&it);
        stage_fini(&run);
    }
}
END_TEST

START_TEST(an_unknown_metric_is_told)
{
    tutti_error err = TUTTI_ERROR_INIT;
    open_it("accuracy", "train", 0.5, 0);
    ck_assert_int_eq(stage_event(&run, &it, TUTTI_EVENT_EPOCH_END, &err), TUTTI_E_NOTFOUND);
    ck_assert_error(err, TUTTI_E_NOTFOUND,
                    "threshold_stopper: there is no metrics/train/accuracy; the run has: no "
                    "metrics");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("threshold_stopper");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, it_stops_past_the_threshold_and_not_at_it);
    tcase_add_test(tc, batches_count_only_when_asked_for);
    tcase_add_test(tc, an_unknown_metric_is_told);
    return tutti_run(suite);
}
