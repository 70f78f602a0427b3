/* oom_observer_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "../plan_files_check.h"
#include "files_check.h"
#include "tutti/memory_observer.h"

static stage run;
static subject it;
static const tutti_memory_observer_v1 *observer;
static test_settings g;
static char text[4096];

static tutti_status open_it(const char *filename, int64_t entries, tutti_error *err)
{
    test_settings_init(&g);
    test_settings_int(&g, "max_entries", entries);
    test_settings_string(&g, "folder", "deep/traces");
    test_settings_string(&g, "filename", filename);
    test_settings_string(&g, "remote_file_name", "{run_name}/oom");
    test_settings_bool(&g, "overwrite", 0);
    stage_init(&run);
    files_check_init(&run, 7);
    run.services[6] = (service){TUTTI_PLAN_V1, &plan_check};
    plan_check_is_there = true;
    const tutti_status s = subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "oom_observer",
                                        &g, run.services, err);
    if (!s)
        observer = subject_query(&it, TUTTI_MEMORY_OBSERVER_V1);
    return s;
}

static void run_out(uint32_t planned, uint64_t wanted, uint64_t available)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_memory_failure f = {sizeof f, planned, "no \"room\"", "cpu", wanted, available};
    ck_assert_ok(observer->out_of_memory(it.self, &f, &err), err);
}

START_TEST(a_failure_is_written_with_its_plan)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char want[400];
    ck_assert_ok(open_it("rank{rank}_{run_name}", 100, &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_LOAD);
    run.time.batch = 7;
    run_out(1, 4096, 1024);
    (void)stage_file(&run, "deep/traces/rank0_trial_snapshot.json", text, sizeof text);
    ck_assert_str_eq(
        text,
        "{\"text\": \"no \\\"room\\\"\", \"planned\": true, \"device\": \"cpu\", "
        "\"wanted_bytes\": 4096, \"available_bytes\": 1024, \"batch\": 7, " PLAN_CHECK_JSON);
    (void)stage_file(&run, "deep/traces/rank0_trial_segment_plot.html", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "relu fc: 64 bytes at 128, steps 1 to 3</title>"));
    (void)snprintf(want, sizeof want, "memory is out; %s/deep/traces has what was to lie in it",
                   run.run_folder);
    ck_assert_str_eq(run.noted, want);
    ck_assert_int_eq(run.noted_level, TUTTI_LOG_WARNING);
    ck_assert_ptr_eq(strstr(files_given, "trial/oom_snapshot.json of "), files_given);
    ck_assert_ptr_nonnull(strstr(files_given, " bytes\ntrial/oom_segment_plot.html of "));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(later_failures_have_files_of_their_own_and_need_no_plan)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(open_it("oom", 1, &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_LOAD);
    run_out(1, 4096, 1024);
    (void)stage_file(&run, "deep/traces/oom_snapshot.json", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "matmul"));
    ck_assert_ptr_null(strstr(text, "relu")); /* max_entries */
    plan_check_is_there = false;
    run_out(0, 0, UINT64_MAX);
    (void)stage_file(&run, "deep/traces/oom.2_snapshot.json", text, sizeof text);
    ck_assert_str_eq(text,
                     "{\"text\": \"no \\\"room\\\"\", \"planned\": false, \"device\": \"cpu\", "
                     "\"wanted_bytes\": null, \"available_bytes\": null, \"batch\": 0, "
                     "\"steps\": 0, \"arena_bytes\": 0, \"peak_bytes\": 0, \"places\": 0, "
                     "\"results\": [\n]}\n");
    ck_assert_str_eq(stage_file(&run, "deep/traces/oom.2_segment_plot.html", text, sizeof text),
                     "");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_folder_with_files_is_left_alone)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char command[600];
    ck_assert_ok(open_it("oom", 1, &err), err);
    (void)snprintf(command, sizeof command, "mkdir -p '%s/deep/traces/old'", run.run_folder);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c) our own folder */
    ck_assert_int_eq(stage_event(&run, &it, TUTTI_EVENT_AFTER_LOAD, &err), TUTTI_E_EXISTS);
    ck_assert_ptr_nonnull(strstr(err.text, "oom_observer: "));
    ck_assert_ptr_nonnull(strstr(err.text, "traces has files already: choose another folder, "
                                           "or set overwrite"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* A failure that ended the process is in no checkpoint: its files are what is known of it. */
START_TEST(a_run_that_is_resumed_goes_on_behind_its_files)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(open_it("oom", 1, &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_LOAD);
    run_out(1, 4096, 1024);
    run_out(1, 4096, 1024);
    subject_close(&it);
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "oom_observer", &g,
                              run.services, &err),
                 err);
    run.time.batch = 7;
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_LOAD);
    run_out(1, 4096, 512);
    (void)stage_file(&run, "deep/traces/oom_snapshot.json", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\"available_bytes\": 1024"));
    (void)stage_file(&run, "deep/traces/oom.3_snapshot.json", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\"available_bytes\": 512"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_name_is_no_path)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_it("a/b", 1, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "oom_observer: filename is a/b, want a name without / (the setting folder "
                    "says where)");
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oom_observer");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_failure_is_written_with_its_plan);
    tcase_add_test(tc, later_failures_have_files_of_their_own_and_need_no_plan);
    tcase_add_test(tc, a_folder_with_files_is_left_alone);
    tcase_add_test(tc, a_run_that_is_resumed_goes_on_behind_its_files);
    tcase_add_test(tc, a_name_is_no_path);
    return tutti_run(suite);
}
