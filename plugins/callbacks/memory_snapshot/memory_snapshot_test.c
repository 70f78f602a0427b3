/* memory_snapshot_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "../plan_files_check.h"
#include "files_check.h"
#include "stateful_check.h"

static stage run;
static subject it;
static test_settings g;
static char text[4096];

static tutti_status open_it(int64_t entries, const char *filename, tutti_error *err)
{
    test_settings_init(&g);
    test_settings_int(&g, "skip_batches", 1);
    test_settings_time(&g, "interval", 2, TUTTI_UNIT_BATCH);
    test_settings_int(&g, "max_entries", entries);
    test_settings_string(&g, "folder", "deep/traces");
    test_settings_string(&g, "filename", filename);
    test_settings_string(&g, "remote_file_name", "{run_name}/{batch}");
    test_settings_bool(&g, "overwrite", 0);
    stage_init(&run);
    files_check_init(&run, 7);
    run.services[6] = (service){TUTTI_PLAN_V1, &plan_check};
    return subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "memory_snapshot", &g,
                        run.services, err);
}

static void batch(void)
{
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    stage_next_batch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
}

/* One batch is skipped, two pass: the third one's end.  It is taken once. */
START_TEST(it_is_taken_once_after_the_interval)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(open_it(100, "r{rank}.{batch}.{x}", &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    batch();
    batch();
    ck_assert_str_eq(stage_file(&run, "deep/traces/r0.2.{x}.json", text, sizeof text), "");
    batch();
    batch();
    ck_assert_str_eq(stage_file(&run, "deep/traces/r0.3.{x}.json", text, sizeof text),
                     "{\"batch\": 3, " PLAN_CHECK_JSON);
    (void)stage_file(&run, "deep/traces/r0.3.{x}.html", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "<rect x=\"300.00\" y=\"400.00\" width=\"900.00\" "
                                       "height=\"200.00\""));
    ck_assert_ptr_nonnull(strstr(text, "relu fc: 64 bytes at 128, steps 1 to 3</title>"));
    ck_assert_str_eq(stage_file(&run, "deep/traces/r0.4.{x}.json", text, sizeof text), "");
    ck_assert_ptr_eq(strstr(files_given, "trial/3.json of "), files_given);
    ck_assert_ptr_nonnull(strstr(files_given, " bytes\ntrial/3.html of "));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(max_entries_are_written)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(open_it(1, "one", &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    for (int k = 0; k < 3; k++)
        batch();
    (void)stage_file(&run, "deep/traces/one.json", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\"places\": 2"));
    ck_assert_ptr_nonnull(strstr(text, "matmul"));
    ck_assert_ptr_null(strstr(text, "relu"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_folder_with_files_is_left_alone)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char command[600];
    ck_assert_ok(open_it(1, "one", &err), err);
    (void)snprintf(command, sizeof command, "mkdir -p '%s/deep/traces/old'", run.run_folder);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c) our own folder */
    const tutti_event e = {.id = TUTTI_EVENT_FIT_START, .name = "fit_start", .time = &run.time};
    ck_assert_int_eq(it.calls->run_event(it.self, &e, &err), TUTTI_E_EXISTS);
    ck_assert_ptr_nonnull(strstr(err.text,
                                 "traces has files already: choose another folder, or "
                                 "set overwrite"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* The next process goes on from what there is now, as after a checkpoint. */
static void resume(void)
{
    stateful_resume(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, &g);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
}

/* The interval and the folder are the run's, whichever process is at it. */
START_TEST(a_run_that_is_resumed_goes_on_with_its_own)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(open_it(100, "{batch}", &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    batch();
    batch();
    resume();
    batch();
    (void)stage_file(&run, "deep/traces/3.json", text, sizeof text);
    ck_assert_str_ne(text, "");
    resume();
    for (int k = 0; k < 4; k++)
        batch();
    for (int k = 4; k < 8; k++) { /* no second one */
        char name[40];
        (void)snprintf(name, sizeof name, "deep/traces/%d.json", k);
        ck_assert_str_eq(stage_file(&run, name, text, sizeof text), "");
    }
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* Batches behind the checkpoint come again, and with them their files. */
START_TEST(what_came_after_the_checkpoint_is_written_anew)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char command[600];
    ck_assert_ok(open_it(100, "{batch}", &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    batch();
    batch();
    (void)snprintf(command, sizeof command, "echo old >'%s/deep/traces/3.json'",
                   run.run_folder);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c) our own folder */
    resume();
    batch();
    ck_assert_str_eq(stage_file(&run, "deep/traces/3.json", text, sizeof text),
                     "{\"batch\": 3, " PLAN_CHECK_JSON);
    ck_assert_ptr_nonnull(strstr(files_given, ", over\ntrial/3.html of "));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_name_is_no_path)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_it(1, "a/b", &err), TUTTI_E_ARG);
    ck_assert_error(
        err, TUTTI_E_ARG,
        "memory_snapshot: filename is a/b, want a name without / (the setting folder "
        "says where)");
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory_snapshot");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, it_is_taken_once_after_the_interval);
    tcase_add_test(tc, max_entries_are_written);
    tcase_add_test(tc, a_folder_with_files_is_left_alone);
    tcase_add_test(tc, a_run_that_is_resumed_goes_on_with_its_own);
    tcase_add_test(tc, what_came_after_the_checkpoint_is_written_anew);
    tcase_add_test(tc, a_name_is_no_path);
    return tutti_run(suite);
}
