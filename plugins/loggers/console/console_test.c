/* console_test.c - the logger through its entry function; what it prints is read from a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run_check.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static stage run;
static subject it;
static const tutti_logger_v1 *table;
static char text[4096];

/* From here on stderr is a file in the run's folder: every test has a process of its own. */
static void open_it(int64_t every, int32_t unit)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    char path[400];
    stage_init(&run);
    (void)snprintf(path, sizeof path, "%s/err", run.run_folder);
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(dup2(fd, 2), 2);
    test_settings_init(&g);
    test_settings_time(&g, "log_interval", every, unit);
    test_settings_enum(&g, "stream", "stderr", 0);
    test_settings_bool(&g, "log_traces", 0);
    ck_assert_ok(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "console", &g, run.services, &err),
        err);
    table = subject_query(&it, TUTTI_LOGGER_V1);
}

static void log_value(const char *name, double value)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_value v = {name, value};
    ck_assert_ok(table->metrics(it.self, &v, 1, 0, &err), err);
}

static void batch(double loss)
{
    log_value("loss/train/total", loss);
    stage_next_batch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
}

START_TEST(the_first_batch_and_every_interval_are_printed)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_text h = {"seed", "17"};
    open_it(2, TUTTI_UNIT_BATCH);
    ck_assert_ok(table->hyperparameters(it.self, &h, 1, &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    ck_assert_ok(table->message(it.self, TUTTI_LOG_INFO, "train", "hello", &err), err);
    for (int k = 0; k < 4; k++)
        batch(0.5 + k);
    subject_close(&it);
    ck_assert_str_eq(stage_file(&run, "err", text, sizeof text),
                     "******************************\nConfig:\nseed: 17\n"
                     "******************************\ntrain: hello\n"
                     "[epoch=1][batch=1/4]:\n\t Train loss/train/total: 0.5000\n"
                     "[epoch=1][batch=2/4]:\n\t Train loss/train/total: 1.5000\n"
                     "[epoch=1][batch=4/4]:\n\t Train loss/train/total: 3.5000\n");
    stage_fini(&run);
}
END_TEST

/* Two names that are the same in their first 120 characters. */
START_TEST(long_names_are_whole_and_apart)
{
    char names[2][140], want[2][200];
    open_it(1, TUTTI_UNIT_BATCH);
    for (int k = 0; k < 2; k++) {
        (void)snprintf(names[k], sizeof names[k], "activations/%0120d/%s", 7,
                       k ? "output" : "input");
        (void)snprintf(want[k], sizeof want[k], "%s: %d\n", names[k], k);
        log_value(names[k], k);
    }
    batch(0.5);
    subject_close(&it);
    (void)stage_file(&run, "err", text, sizeof text);
    for (int k = 0; k < 2; k++)
        ck_assert_ptr_nonnull(strstr(text, want[k]));
    stage_fini(&run);
}
END_TEST

START_TEST(epochs_and_other_units_of_the_run_are_named)
{
    open_it(1, TUTTI_UNIT_EPOCH);
    run.max.unit = TUTTI_UNIT_BATCH;
    run.max.count = 12;
    batch(0.5);
    stage_next_epoch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_END);
    run.max.unit = TUTTI_UNIT_EPOCH;
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_END);
    subject_close(&it);
    ck_assert_str_eq(stage_file(&run, "err", text, sizeof text),
                     "[ba=1/12]:\n\t Train loss/train/total: 0.5000\n[epoch=1][batch=4/4]\n");
    stage_fini(&run);
}
END_TEST

START_TEST(an_evaluation_prints_its_own_metrics_at_its_end)
{
    open_it(100, TUTTI_UNIT_BATCH);
    log_value("loss/train/total", 0.5);
    run.label = "test";
    run.len = 3;
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_START);
    for (int k = 1; k <= 3; k++) {
        run.eval_time.batch = k;
        ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_BATCH_END);
    }
    log_value("metrics/test/accuracy", 0.875);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    subject_close(&it);
    ck_assert_str_eq(stage_file(&run, "err", text, sizeof text),
                     "******************************\nConfig:\n******************************\n"
                     "[Eval batch=1/3] Eval on test data\n[Eval batch=2/3] Eval on test data\n"
                     "[Eval batch=3/3] Eval on test data:\n\t Eval metrics/test/accuracy: "
                     "0.8750\n");
    stage_fini(&run);
}
END_TEST

START_TEST(a_long_evaluation_prints_ten_lines_of_progress)
{
    int n = 0;
    open_it(100, TUTTI_UNIT_BATCH);
    run.label = "test";
    run.len = 1000;
    for (int k = 1; k <= 1000; k++) {
        run.eval_time.batch = k;
        ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_BATCH_END);
    }
    subject_close(&it);
    for (const char *p = stage_file(&run, "err", text, sizeof text); *p; p++)
        n += *p == '\n';
    ck_assert_int_eq(n, 10);
    stage_fini(&run);
}
END_TEST

START_TEST(an_interval_of_nothing_is_refused)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    stage_init(&run);
    test_settings_init(&g);
    test_settings_time(&g, "log_interval", 0, TUTTI_UNIT_BATCH);
    ck_assert_int_eq(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "console", &g, run.services, &err),
        TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE, "console: log_interval is 0, want 1 or more");
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("console");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_first_batch_and_every_interval_are_printed);
    tcase_add_test(tc, long_names_are_whole_and_apart);
    tcase_add_test(tc, epochs_and_other_units_of_the_run_are_named);
    tcase_add_test(tc, an_evaluation_prints_its_own_metrics_at_its_end);
    tcase_add_test(tc, a_long_evaluation_prints_ten_lines_of_progress);
    tcase_add_test(tc, an_interval_of_nothing_is_refused);
    return tutti_run(suite);
}
