/* load_checkpoint_test.c - the callback through its entry function: when it asks the host for what. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "run_check.h"

#include <stdbool.h>

static stage run;
static subject it;
static char asked[512];
static bool fails;

static tutti_status load(void *ctx, const char *path, const tutti_load *how, tutti_error *err)
{
    const size_t used = strlen(asked);
    (void)ctx;
    if (fails)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: is damaged", path);
    (void)snprintf(asked + used, sizeof asked - used, "%s %u %u:", path, how->weights_only,
                   how->strict);
    for (const char *const *k = how->ignore_keys; *k; k++)
        (void)snprintf(asked + strlen(asked), sizeof asked - strlen(asked), " %s", *k);
    (void)snprintf(asked + strlen(asked), sizeof asked - strlen(asked), "\n");
    return TUTTI_OK;
}

static tutti_status open_it(int weights_only, int strict, const char *event, tutti_error *err)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_path(&g, "load_path", "/a/b.safetensors");
    test_settings_bool(&g, "load_weights_only", weights_only);
    test_settings_bool(&g, "strict_model_weights", strict);
    test_settings_list(&g, "ignore_keys", TUTTI_PARAM_STRING, 1)->s = "model.head";
    test_settings_enum(&g, "event", event, 0);
    stage_init(&run);
    run.tables.checkpoint.load = load;
    asked[0] = '\0';
    fails = false;
    return subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "load_checkpoint", &g,
                        run.services, err);
}

START_TEST(the_file_is_loaded_at_its_event_alone)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(open_it(0, 1, "before_load", &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_LOAD);
    ck_assert_str_eq(asked, "");
    ck_assert_hears(&run, &it, TUTTI_EVENT_BEFORE_LOAD);
    ck_assert_str_eq(asked, "/a/b.safetensors 0 1: model.head\n");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(weights_come_each_time)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(open_it(1, 0, "epoch_start", &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_START);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_START);
    ck_assert_str_eq(asked, "/a/b.safetensors 1 0: model.head\n"
                            "/a/b.safetensors 1 0: model.head\n");
    fails = true;
    ck_assert_int_eq(stage_event(&run, &it, TUTTI_EVENT_EPOCH_START, &err), TUTTI_E_FORMAT);
    ck_assert_error(err, TUTTI_E_FORMAT, "/a/b.safetensors: is damaged");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* Weights of a batch that has been trained on are not overwritten; later events are the user's choice. */
START_TEST(a_run_that_is_resumed_keeps_what_it_has)
{
    static const struct {
        const char *name;
        int32_t event;
    } early[] = {{"after_load", TUTTI_EVENT_AFTER_LOAD}, {"fit_start", TUTTI_EVENT_FIT_START}};
    tutti_error err = TUTTI_ERROR_INIT;
    char want[200];
    for (int k = 0; k < 2; k++) {
        ck_assert_ok(open_it(1, 1, early[k].name, &err), err);
        run.time.batch = 7;
        ck_assert_hears(&run, &it, early[k].event);
        ck_assert_str_eq(asked, "");
        (void)snprintf(want, sizeof want,
                       "/a/b.safetensors is not loaded at %s: the run goes on after batch 7",
                       early[k].name);
        ck_assert_str_eq(run.noted, want);
        run.time.batch = 0; /* one that begins */
        ck_assert_hears(&run, &it, early[k].event);
        ck_assert_str_eq(asked, "/a/b.safetensors 1 1: model.head\n");
        subject_close(&it);
        stage_fini(&run);
    }
    ck_assert_ok(open_it(1, 1, "eval_start", &err), err);
    run.time.batch = 7;
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_START);
    ck_assert_str_eq(asked, "/a/b.safetensors 1 1: model.head\n");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_run_that_has_begun_takes_weights_alone)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_it(0, 1, "eval_start", &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "load_checkpoint: at eval_start the run has begun, so that weights alone "
                    "can be loaded: set load_weights_only");
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load_checkpoint");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_file_is_loaded_at_its_event_alone);
    tcase_add_test(tc, weights_come_each_time);
    tcase_add_test(tc, a_run_that_is_resumed_keeps_what_it_has);
    tcase_add_test(tc, a_run_that_has_begun_takes_weights_alone);
    return tutti_run(suite);
}
