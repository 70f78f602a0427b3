/* optimizer_monitor_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run_check.h"

static stage run;
static subject it;
static float a[2], b[1], mean[1], da[2], db[1];

static void open_it(int updates)
{
    given g;
    tutti_error err = TUTTI_ERROR_INIT;
    given_init(&g);
    given_bool(&g, "log_optimizer_metrics", updates);
    given_int(&g, "batch_log_interval", 2);
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
    tcase_add_test(tc, gradients_alone_can_be_asked_for);
    return tutti_run(suite);
}
