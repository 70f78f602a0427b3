/* optimizer_monitor_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* slots */
#include "run_check.h"

static stage run;
static subject it;
static float a[2], b[1], mean[1], da[2], db[1];

static void open_it(int updates)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_bool(&g, "log_optimizer_metrics", updates);
    test_settings_int(&g, "batch_log_interval", 2);
    stage_init(&run);
    stage_kernels(&run);
    a[0] = 1.0f, a[1] = 2.0f, b[0] = 5.0f;
    da[0] = 3.0f, da[1] = 4.0f, db[0] = 12.0f;
    stage_weight(&run, "a.weight", 2, a, da);
    stage_weight(&run, "norm.running_mean", 1, mean, NULL);
    stage_weight(&run, "b.bias", 1, b, db);
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "optimizer_monitor", &g,
                              run.services, &err),
                 err);
}

static void batch(void)
{
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_TRAIN_BATCH);
    a[0] += 6.0f;
    a[1] -= 8.0f;
    b[0] -= 2.0f;
    stage_next_batch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
}

static double value(const char *name)
{
    double v = NAN;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(stage_metric(&run, name, &v, &err), err);
    return v;
}

START_TEST(lengths_are_logged_at_the_interval)
{
    open_it(1);
    batch();
    ck_assert_uint_eq(run.nvalues, 0);
    batch();
    ck_assert_uint_eq(run.nvalues, 7);
    ck_assert_close(value("l2_norm/grad/a.weight"), 5.0, 1e-12);
    ck_assert_close(value("l2_norm/grad/b.bias"), 12.0, 1e-12);
    ck_assert_close(value("l2_norm/grad/global"), 13.0, 1e-12);
    ck_assert_close(value("l2_norm/param/a.weight"), sqrt(13.0 * 13.0 + 14.0 * 14.0), 1e-12);
    ck_assert_close(value("l2_norm/param/b.bias"), 1.0, 1e-12);
    ck_assert_close(value("l2_norm/update/a.weight"), 10.0, 1e-12);
    ck_assert_close(value("l2_norm/update/b.bias"), 2.0, 1e-12);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* As sam does: the gradient is taken again at weights moved aside. */
START_TEST(an_update_counts_from_the_first_gradient)
{
    open_it(1);
    batch();
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_TRAIN_BATCH);
    a[0] += 100.0f;
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_TRAIN_BATCH);
    a[0] -= 100.0f;
    a[1] += 5.0f;
    stage_next_batch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    ck_assert_close(value("l2_norm/update/a.weight"), 5.0, 1e-5);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* Of weights whose optimizer keeps one, whatever else it keeps. */
START_TEST(moments_are_those_of_the_optimizer)
{
    float squares[2] = {100.0f, 100.0f}, moment[2] = {-8.0f, 15.0f}, rows[1] = {7.0f};
    open_it(1);
    stage_slot(&run, 0, "exp_avg_sq", squares);
    stage_slot(&run, 0, "exp_avg", moment);
    stage_slot(&run, 2, "row_var", rows);
    batch();
    batch();
    ck_assert_uint_eq(run.nvalues, 8);
    ck_assert_close(value("l2_norm/moment/a.weight"), 17.0, 1e-12);
    moment[0] = 3.0f, moment[1] = 4.0f;
    batch();
    batch();
    ck_assert_close(value("l2_norm/moment/a.weight"), 5.0, 1e-12);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(moments_that_lie_apart_or_together_are_each_summed)
{
    static float state[3][40000]; /* more than one piece each */
    static float weights[3][40000], gradients[3][40000];
    static const char *const paths[] = {"one", "two", "three"};
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_bool(&g, "log_optimizer_metrics", 1);
    test_settings_int(&g, "batch_log_interval", 2);
    stage_init(&run);
    stage_kernels(&run);
    double want[3] = {0.0};
    for (uint32_t k = 0; k < 3; k++) {
        stage_weight(&run, paths[k], 40000, weights[k], gradients[k]);
        stage_slot(&run, k, "momentum", state[_i ? 2 - k : k]);
        for (int i = 0; i < 40000; i++) {
            state[_i ? 2 - k : k][i] = (float)(i % 7) * (float)(k + 1);
            want[k] += pow((i % 7) * (double)(k + 1), 2.0);
        }
    }
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "optimizer_monitor", &g,
                              run.services, &err),
                 err);
    batch();
    batch();
    ck_assert_close(value("l2_norm/moment/one"), sqrt(want[0]), 1e-9);
    ck_assert_close(value("l2_norm/moment/two"), sqrt(want[1]), 1e-9);
    ck_assert_close(value("l2_norm/moment/three"), sqrt(want[2]), 1e-9);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(moments_that_are_divided_are_told_of_once)
{
    float moment[2] = {3.0f, 4.0f};
    open_it(1);
    stage_slot(&run, 0, "momentum", moment);
    run.slots.are_divided = 1;
    batch();
    batch();
    ck_assert_uint_eq(run.nvalues, 7);
    ck_assert_str_eq(run.noted, "moments are not logged: the state is divided");
    ck_assert_int_eq(run.noted_level, TUTTI_LOG_WARNING);
    run.noted[0] = '\0';
    batch();
    batch();
    ck_assert_str_eq(run.noted, "");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(gradients_alone_can_be_asked_for)
{
    open_it(0);
    batch();
    batch();
    ck_assert_uint_eq(run.nvalues, 3);
    ck_assert_close(value("l2_norm/grad/global"), 13.0, 1e-12);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer_monitor");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, lengths_are_logged_at_the_interval);
    tcase_add_test(tc, an_update_counts_from_the_first_gradient);
    tcase_add_test(tc, moments_are_those_of_the_optimizer);
    tcase_add_loop_test(tc, moments_that_lie_apart_or_together_are_each_summed, 0, 2);
    tcase_add_test(tc, moments_that_are_divided_are_told_of_once);
    tcase_add_test(tc, gradients_alone_can_be_asked_for);
    return tutti_run(suite);
}
