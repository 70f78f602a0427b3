/* swa_test.c - what is averaged and when, the learning rate meanwhile, and what checkpoints keep. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"

#include "tutti/stateful.h"

static run r;
static subject s;
static tutti_error err;
static float w[2], dw[2], buffer[1];

static void defaults(test_settings *g)
{
    test_settings_init(g);
    test_settings_dur(g, "swa_start", 0.5);
    test_settings_dur(g, "swa_end", 0.9);
    test_settings_time(g, "update_interval", 1, TUTTI_UNIT_BATCH);
    test_settings_bool(g, "schedule_swa_lr", 0);
    test_settings_enum(g, "anneal_strategy", "linear", 0);
    test_settings_int(g, "anneal_steps", 4);
    test_settings_null(g, "swa_lr");
}

static void start_run(void)
{
    memset(&err, 0, sizeof err);
    run_init(&r);
    run_kernels(&r);
    run_weight(&r, "layer.weight", shape(TUTTI_F32, 2), w, dw);
    run_weight(&r, "norm.running_mean", shape(TUTTI_F32, 1), buffer, NULL);
    r.lr = 0.8;
}

static void open_with(const test_settings *g)
{
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "swa", g, r.services, &err), err);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_INIT, &err), 1);
    ck_assert_str_eq(err.text, "");
}

/* The end of a batch of a run of ten; returns what match said. */
static int32_t ends(float value)
{
    w[0] = w[1] = value;
    buffer[0] = 100.0f + value;
    r.time.batch++;
    r.elapsed = (double)r.time.batch / 10.0;
    const int32_t matched = run_event(&r, &s, TUTTI_EVENT_BATCH_END, &err);
    ck_assert_str_eq(err.text, "");
    return matched;
}

START_TEST(the_model_gets_the_mean_of_its_late_weights)
{
    test_settings g;
    start_run();
    defaults(&g);
    open_with(&g);
    for (int k = 1; k < 5; k++)
        ck_assert_int_eq(ends((float)(-1000 * k)), 0);
    for (int k = 5; k < 9; k++) {
        ck_assert_int_eq(ends((float)k), 1);
        ck_assert_close(w[0], (double)k, 0.0); /* not yet */
    }
    ck_assert_int_eq(ends(19.0f), 1);
    ck_assert_close(w[0], (5.0 + 6.0 + 7.0 + 8.0 + 19.0) / 5.0, 1e-6);
    ck_assert_close(w[1], w[0], 0.0);
    ck_assert_close(buffer[0], 119.0, 0.0); /* copied, not averaged */
    ck_assert_int_eq(ends(50.0f), 0);
    ck_assert_close(w[0], 50.0, 0.0);
    subject_close(&s);
}
END_TEST

/* Every second batch from the start: 5, 7 and 9; the end comes at one that does not count. */
START_TEST(the_interval_is_counted_from_the_start)
{
    test_settings g;
    start_run();
    defaults(&g);
    test_settings_dur(&g, "swa_end", 1.0);
    test_settings_time(&g, "update_interval", 2, TUTTI_UNIT_BATCH);
    open_with(&g);
    ck_assert_str_eq(r.told,
                     "[2] swa_end is 1dur: no training is left in which batch norm could "
                     "fit its statistics to the mean weights\n");
    for (int k = 1; k <= 10; k++)
        (void)ends((float)k);
    ck_assert_close(w[0], 7.0, 1e-6);
    subject_close(&s);
}
END_TEST

START_TEST(epochs_can_be_the_unit)
{
    test_settings g;
    start_run();
    defaults(&g);
    test_settings_time(&g, "swa_start", 2, TUTTI_UNIT_EPOCH);
    test_settings_time(&g, "swa_end", 3, TUTTI_UNIT_EPOCH);
    test_settings_time(&g, "update_interval", 1, TUTTI_UNIT_EPOCH);
    open_with(&g);
    for (int epoch = 1; epoch <= 3; epoch++) {
        r.time.epoch = epoch;
        ck_assert_int_eq(ends((float)epoch), 0);
        ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_EPOCH_END, &err), epoch >= 2);
    }
    ck_assert_close(w[0], 2.5, 1e-6);
    subject_close(&s);
}
END_TEST

/* From 0.8 to 0.4 in 4 updates; after each of them a batch starts. */
START_TEST(the_learning_rate_goes_to_swa_lr)
{
    test_settings g;
    start_run();
    defaults(&g);
    test_settings_bool(&g, "schedule_swa_lr", 1);
    test_settings_enum(&g, "anneal_strategy", _i ? "cos" : "linear", _i);
    test_settings_float(&g, "swa_lr", 0.4);
    test_settings_dur(&g, "swa_start", 0.1);
    open_with(&g);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err), 0);
    for (int k = 1; k <= 6; k++) {
        const double t = k < 4 ? k / 4.0 : 1.0;
        (void)ends(1.0f);
        r.lr = 0.001 * k; /* the schedule's word */
        if (k == 1)
            r.lr = 0.8;
        ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err), 1);
        ck_assert_close(r.lr, 0.8 - 0.4 * (_i ? (1.0 - cos(acos(-1.0) * t)) / 2.0 : t), 1e-12);
    }
    for (int k = 7; k <= 9; k++)
        (void)ends(1.0f);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err), 0); /* completed */
    subject_close(&s);
}
END_TEST

START_TEST(a_checkpoint_carries_everything_over)
{
    test_settings g;
    tutti_state_item first[8], second[8];
    uint32_t n = 0, count = 0;
    start_run();
    defaults(&g);
    test_settings_bool(&g, "schedule_swa_lr", 1);
    test_settings_float(&g, "swa_lr", 0.4);
    open_with(&g);
    for (int k = 1; k <= 6; k++)
        (void)ends((float)k);
    const tutti_stateful_v1 *table = subject_query(&s, TUTTI_STATEFUL_V1);
    ck_assert_ok(table->items(s.self, NULL, 0, &n, &err), err);
    ck_assert_uint_eq(n, 4);
    ck_assert_ok(table->items(s.self, first, n, &count, &err), err);
    ck_assert_str_eq(first[0].name, "flags");
    ck_assert_str_eq(first[1].name, "swa.layer.weight");
    ck_assert_str_eq(first[2].name, "swa.norm.running_mean");
    ck_assert_str_eq(first[3].name, "lr");
    subject before = s;
    open_with(&g); /* a new process */
    ck_assert_ok(table->items(s.self, second, n, &count, &err), err);
    for (uint32_t k = 0; k < n; k++)
        memcpy(second[k].tensor.data, first[k].tensor.data,
               tutti_nbytes(&first[k].tensor.desc));
    r.lr = 0.1;
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err), 1);
    ck_assert_close(r.lr, 0.6, 1e-12);
    for (int k = 7; k <= 9; k++)
        (void)ends((float)k);
    ck_assert_close(w[0], 7.0, 1e-6);
    subject_close(&s);
    subject_close(&before);
}
END_TEST

START_TEST(settings_that_contradict_are_refused)
{
    test_settings g;
    defaults(&g);
    test_settings_time(&g, "swa_end", 3, TUTTI_UNIT_EPOCH);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "swa", &g, TUTTI_E_ARG,
                           "swa: swa_start and swa_end are in different units, want dur or ep "
                           "for both");
    test_settings_time(&g, "swa_start", 3, TUTTI_UNIT_EPOCH);
    ck_assert_open_refused(
        PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "swa", &g, TUTTI_E_RANGE,
        "swa: swa_start is 3 and swa_end is 3, want a start of 0 or more and "
        "below the end");
    defaults(&g);
    test_settings_dur(&g, "swa_end", 1.5);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "swa", &g, TUTTI_E_RANGE,
                           "swa: swa_end is 1.5dur, want 1dur or less");
    defaults(&g);
    test_settings_time(&g, "update_interval", 0, TUTTI_UNIT_BATCH);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "swa", &g, TUTTI_E_RANGE,
                           "swa: update_interval is 0, want 1 or more");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("swa");
    TCase *t = tcase_create("all");
    tcase_add_test(t, the_model_gets_the_mean_of_its_late_weights);
    tcase_add_test(t, the_interval_is_counted_from_the_start);
    tcase_add_test(t, epochs_can_be_the_unit);
    tcase_add_loop_test(t, the_learning_rate_goes_to_swa_lr, 0, 2);
    tcase_add_test(t, a_checkpoint_carries_everything_over);
    tcase_add_test(t, settings_that_contradict_are_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
