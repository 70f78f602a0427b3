/* export_for_inference_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "run_check.h"
#include "tutti/export.h"

static stage run;
static subject it;
static char format[64], written[1200];
static int calls, claims;

static tutti_status write_model(void *ctx, const tutti_export *what, tutti_error *err)
{
    (void)ctx;
    calls++;
    (void)snprintf(format, sizeof format, "%s", what->format);
    (void)snprintf(written, sizeof written, "%s", what->path);
    return strstr(what->path, "full")
               ? tutti_fail(err, TUTTI_E_IO, "%s: the disk is full", what->path)
               : TUTTI_OK;
}

static const tutti_export_v1 table = {.struct_size = sizeof table, .write = write_model};

static tutti_status claim(void *ctx, const char *folder, tutti_error *err)
{
    (void)ctx, (void)err;
    ck_assert_str_eq(folder, run.run_folder);
    claims++;
    return TUTTI_OK;
}

static void open_with(const char *save_format, int64_t index, const char *path)
{
    test_settings settings;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&settings);
    test_settings_enum(&settings, "save_format", save_format, index);
    if (path)
        test_settings_path(&settings, "save_path", path);
    else
        test_settings_null(&settings, "save_path");
    stage_init(&run);
    run.services[6] = (service){TUTTI_EXPORT_V1, &table};
    run.tables.checkpoint.claim = claim;
    calls = claims = 0;
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "export_for_inference",
                              &settings, run.services, &err),
                 err);
    ck_assert_int_eq(calls, 0);
}

static void end(void)
{
    subject_close(&it);
    stage_fini(&run);
}

START_TEST(the_model_is_written_when_training_ends)
{
    char want[400];
    open_with("onnx", 0, NULL);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    (void)snprintf(want, sizeof want, "%s/model.onnx", run.run_folder);
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(claims, 1);
    ck_assert_str_eq(format, "onnx");
    ck_assert_str_eq(written, want);
    end();
}
END_TEST

START_TEST(as_the_settings_say)
{
    open_with("huggingface", 1, "/elsewhere/net");
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    ck_assert_int_eq(claims, 0);
    ck_assert_str_eq(format, "huggingface");
    ck_assert_str_eq(written, "/elsewhere/net");
    end();
}
END_TEST

START_TEST(a_failure_is_the_callbacks)
{
    tutti_error err = TUTTI_ERROR_INIT;
    open_with("onnx", 0, "/full/net");
    ck_assert_int_eq(stage_event(&run, &it, TUTTI_EVENT_FIT_END, &err), TUTTI_E_IO);
    ck_assert_error(err, TUTTI_E_IO, "/full/net: the disk is full");
    end();
}
END_TEST

START_TEST(a_host_without_exports_is_refused)
{
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_CALLBACK, "export_for_inference", NULL,
                           TUTTI_E_UNSUPPORTED,
                           "export_for_inference: this host has no tutti.checkpoint/1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("export_for_inference");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_model_is_written_when_training_ends);
    tcase_add_test(tc, as_the_settings_say);
    tcase_add_test(tc, a_failure_is_the_callbacks);
    tcase_add_test(tc, a_host_without_exports_is_refused);
    return tutti_run(suite);
}
