/* file_test.c - the logger through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tables, tutti.files/1 */
#include "files_check.h"

#include <stdbool.h>
#include <stdio.h>

static stage run;
static subject it;
static test_settings g;
static bool sends; /* the file elsewhere */
static char text[4096];

static const tutti_logger_v1 *open_it(const char *filename, int traces)
{
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    if (filename)
        test_settings_path(&g, "filename", filename);
    else
        test_settings_null(&g, "filename");
    if (sends)
        test_settings_string(&g, "remote_file_name", "logs/{run_name}");
    else
        test_settings_null(&g, "remote_file_name");
    test_settings_bool(&g, "overwrite", 0);
    test_settings_int(&g, "flush_interval", 1);
    test_settings_bool(&g, "log_traces", traces);
    ck_assert_ok(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "file", &g, run.services, &err), err);
    return subject_query(&it, TUTTI_LOGGER_V1);
}

static const tutti_trace trace = {.struct_size = sizeof trace,
                                  .event = TUTTI_EVENT_BEFORE_LOSS,
                                  .name = "mixup",
                                  .event_name = "before_loss",
                                  .ran = 1};

START_TEST(the_file_is_sent_after_each_write_to_the_disk)
{
    tutti_error err = TUTTI_ERROR_INIT;
    sends = true;
    stage_init(&run);
    files_check_init(&run, 6);
    const tutti_logger_v1 *table = open_it(NULL, 1);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    ck_assert_ok(table->message(it.self, TUTTI_LOG_INFO, "train", "hello", &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    ck_assert_ok(table->message(it.self, TUTTI_LOG_INFO, "train", "hello", &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    ck_assert_str_eq(files_given,
                     "logs/trial of 30 bytes, over\nlogs/trial of 60 bytes, over\n");
    files_fail = TUTTI_E_NOTFOUND; /* a run without such a logger: once */
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_END);
    ck_assert_str_eq(run.noted, "logs/trial is not sent: no logger of the run takes files");
    run.noted[0] = '\0';
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_END);
    ck_assert_str_eq(run.noted, "");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(each_item_is_a_line)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_value v[] = {
        {"loss/train/total", 0.53125}, {"time/batch", 7}, {"lr-sgd/group0", 0.00002}};
    const tutti_named_text h = {"seed", "17"};
    stage_init(&run);
    const tutti_logger_v1 *table = open_it(NULL, 1);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_ok(table->hyperparameters(it.self, &h, 1, &err), err);
    ck_assert_ok(table->metrics(it.self, v, 3, 7, &err), err);
    ck_assert_ok(table->trace(it.self, &trace, &err), err);
    ck_assert_ok(table->message(it.self, TUTTI_LOG_INFO, "train", "hello", &err), err);
    const tutti_table answers = stage_a_table("answers");
    ck_assert_ok(table->table(it.self, &answers, 7, &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    (void)snprintf(text, sizeof text, "%s/log.txt", run.run_folder);
    ck_assert_str_eq(table->location(it.self), text);
    ck_assert_str_eq(stage_file(&run, "log.txt", text, sizeof text),
                     "[hyperparameter]: seed: 17 \n"
                     "[metric][batch=7]: loss/train/total: 0.5312 \n"
                     "[metric][batch=7]: time/batch: 7 \n"
                     "[metric][batch=7]: lr-sgd/group0: 2.000e-05 \n"
                     "[trace]: algorithm_traces/mixup/Event.BEFORE_LOSS:1\n"
                     "[message][info]: train: hello\n"
                     "[table]: answers: {\"columns\":[\"sample\",\"said\"],"
                     "\"data\":[[0,\"a \\\"b\\\"\"],[1,[1,2.5]]]}\n");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(traces_can_be_left_out_and_lines_are_added_to_what_is_there)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char path[400];
    stage_init(&run);
    (void)snprintf(path, sizeof path, "%s/new/{run_name}.txt", run.run_folder);
    for (int k = 0; k < 2; k++) {
        const tutti_logger_v1 *table = open_it(path, 0);
        ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
        ck_assert_ok(table->trace(it.self, &trace, &err), err);
        ck_assert_ok(table->message(it.self, TUTTI_LOG_WARNING, "train", "again", &err), err);
        subject_close(&it);
    }
    ck_assert_str_eq(stage_file(&run, "new/trial.txt", text, sizeof text),
                     "[message][warning]: train: again\n[message][warning]: train: again\n");
    stage_fini(&run);
}
END_TEST

START_TEST(a_full_disk_is_told_once_and_the_run_goes_on)
{
    tutti_error err = TUTTI_ERROR_INIT;
    stage_init(&run);
    const tutti_logger_v1 *table = open_it("/dev/full", 1);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_ok(table->message(it.self, TUTTI_LOG_INFO, "train", "lost", &err), err);
    ck_assert_int_eq(stage_event(&run, &it, TUTTI_EVENT_EPOCH_END, &err), TUTTI_E_IO);
    ck_assert_error(err, TUTTI_E_IO,
                    "file: cannot write /dev/full: No space left on device; nothing more is "
                    "logged there");
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_END);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_file_that_cannot_be_made_is_told)
{
    tutti_error err = TUTTI_ERROR_INIT;
    stage_init(&run);
    (void)open_it("/dev/null/log.txt", 1);
    ck_assert_int_eq(stage_event(&run, &it, TUTTI_EVENT_INIT, &err), TUTTI_E_IO);
    ck_assert_error(err, TUTTI_E_IO,
                    "file: cannot write /dev/null/log.txt: Not a directory; nothing more is "
                    "logged there");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_file_is_sent_after_each_write_to_the_disk);
    tcase_add_test(tc, each_item_is_a_line);
    tcase_add_test(tc, traces_can_be_left_out_and_lines_are_added_to_what_is_there);
    tcase_add_test(tc, a_full_disk_is_told_once_and_the_run_goes_on);
    tcase_add_test(tc, a_file_that_cannot_be_made_is_told);
    return tutti_run(suite);
}
