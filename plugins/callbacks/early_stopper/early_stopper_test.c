/* early_stopper_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#include "run_check.h"
#include "tutti/stateful.h"

static stage run;
static subject it;

static void open_it(const char *monitor, const char *label, const char *comp, int64_t patience,
                    int32_t unit)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_string(&g, "monitor", monitor);
    test_settings_string(&g, "dataloader_label", label);
    if (comp)
        test_settings_enum(&g, "comp", comp, 0);
    else
        test_settings_null(&g, "comp");
    test_settings_float(&g, "min_delta", 0.01);
    test_settings_time(&g, "patience", patience, unit);
    stage_init(&run);
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "early_stopper", &g,
                              run.services, &err),
                 err);
}

/* An evaluation of "test" after one more epoch. */
static void evaluate(double accuracy)
{
    stage_next_epoch(&run);
    run.label = "test";
    stage_value(&run, "metrics/test/accuracy", accuracy);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    run.label = NULL;
}

START_TEST(it_stops_when_more_than_patience_has_passed)
{
    open_it("accuracy", "test", NULL, 1, TUTTI_UNIT_EPOCH);
    evaluate(0.5);
    evaluate(0.505); /* better by less than min_delta */
    ck_assert_str_eq(run.stopped, "");
    evaluate(0.49);
    ck_assert_str_eq(run.stopped,
                     "early_stopper: accuracy of test has not been better than 0.5 "
                     "for more than 1ep");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(an_improvement_starts_the_wait_anew)
{
    open_it("accuracy", "test", NULL, 1, TUTTI_UNIT_EPOCH);
    evaluate(0.5);
    evaluate(0.4);
    evaluate(0.6);
    evaluate(0.6);
    ck_assert_str_eq(run.stopped, "");
    evaluate(0.6);
    ck_assert_str_ne(run.stopped, "");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(an_evaluation_that_was_cut_says_nothing)
{
    open_it("accuracy", "test", NULL, 1, TUTTI_UNIT_EPOCH);
    run.label = "test";
    run.cut = 1;
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END); /* without any value */
    run.cut = 0;
    evaluate(0.5);
    run.cut = 1;
    for (int k = 0; k < 3; k++)
        evaluate(0.5);
    ck_assert_str_eq(run.stopped, "");
    run.cut = 0;
    evaluate(0.5);
    ck_assert_str_ne(run.stopped, "");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(losses_are_better_when_less_and_batches_can_be_the_patience)
{
    open_it("my_Loss", "train", NULL, 2, TUTTI_UNIT_BATCH);
    for (int k = 0; k < 6; k++) {
        stage_next_batch(&run);
        stage_value(&run, "metrics/train/my_Loss", k < 3 ? 1.0 - 0.1 * k : 0.9);
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
        ck_assert_int_eq(run.stopped[0] != 0, k == 5); /* best at batch 3, now batch 6 */
    }
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(other_data_is_not_looked_at)
{
    open_it("accuracy", "test", "less", 1, TUTTI_UNIT_EPOCH);
    run.label = "other";
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    run.label = NULL;
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_END);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(an_unknown_metric_is_told_with_the_known_ones)
{
    tutti_error err = TUTTI_ERROR_INIT;
    open_it("acuracy", "test", NULL, 1, TUTTI_UNIT_EPOCH);
    stage_value(&run, "loss/train/total", 1.0);
    stage_value(&run, "metrics/test/accuracy", 0.5);
    stage_value(&run, "metrics/train/accuracy", 0.5);
    run.label = "test";
    ck_assert_int_eq(stage_event(&run, &it, TUTTI_EVENT_EVAL_END, &err), TUTTI_E_NOTFOUND);
    ck_assert_error(err, TUTTI_E_NOTFOUND,
                    "early_stopper: there is no metrics/test/acuracy; the run has: "
                    "metrics/test/accuracy, metrics/train/accuracy");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(the_best_value_survives_a_resume)
{
    open_it("accuracy", "test", NULL, 1, TUTTI_UNIT_EPOCH);
    const tutti_stateful_v1 *table = subject_query(&it, TUTTI_STATEFUL_V1);
    tutti_state_item items[2];
    uint32_t n = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(table->items(it.self, items, 2, &n, &err), err);
    ck_assert_uint_eq(n, 2);
    const int64_t when[2] = {1, 3};
    *(double *)items[0].tensor.data = 0.9;
    memcpy(items[1].tensor.data, when, sizeof when);
    run.time.epoch = 4;
    evaluate(0.8);
    ck_assert_str_eq(run.stopped,
                     "early_stopper: accuracy of test has not been better than 0.9 "
                     "for more than 1ep");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("early_stopper");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, it_stops_when_more_than_patience_has_passed);
    tcase_add_test(tc, an_improvement_starts_the_wait_anew);
    tcase_add_test(tc, an_evaluation_that_was_cut_says_nothing);
    tcase_add_test(tc, losses_are_better_when_less_and_batches_can_be_the_patience);
    tcase_add_test(tc, other_data_is_not_looked_at);
    tcase_add_test(tc, an_unknown_metric_is_told_with_the_known_ones);
    tcase_add_test(tc, the_best_value_survives_a_resume);
    return tutti_run(suite);
}
