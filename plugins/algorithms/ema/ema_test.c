/* ema_test.c - the average, when it is in the model, and what a checkpoint keeps of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"

#include "tutti/stateful.h"

static run r;
static subject s;
static tutti_error err;
static float w[2], g[2], buffer[1];

static void start_run(void)
{
    run_init(&r);
    run_kernels(&r);
    memset(&err, 0, sizeof err);
    w[0] = 1.0f;
    w[1] = 2.0f;
    buffer[0] = 8.0f;
    run_weight(&r, "layer.weight", shape(TUTTI_F32, 2), w, g);
    run_weight(&r, "norm.running_mean", shape(TUTTI_F32, 1), buffer, NULL);
}

static void defaults(test_settings *given_)
{
    test_settings_init(given_);
    test_settings_null(given_, "half_life");
    test_settings_float(given_, "smoothing", 0.5);
    test_settings_dur(given_, "ema_start", 0.0);
    test_settings_null(given_, "update_interval");
}

static void open_with(const test_settings *given_)
{
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "ema", given_, r.services, &err),
        err);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_INIT, &err), 1);
}

static int32_t at(int32_t event)
{
    const int32_t matched = run_event(&r, &s, event, &err);
    ck_assert_str_eq(err.text, "");
    return matched;
}

static void ends_batch(float weight)
{
    w[0] = weight;
    r.time.batch++;
    ck_assert_int_eq(at(TUTTI_EVENT_BATCH_END), 1);
}

static const double amounts[] = {0.0, 0.5, 0.99, 1.0};

START_TEST(an_update_is_the_weighted_mean_of_average_and_weight)
{
    const double k = amounts[_i];
    test_settings with;
    start_run();
    defaults(&with);
    test_settings_float(&with, "smoothing", k);
    open_with(&with);
    ends_batch(4.0f); /* averaging begins here: the average is 4 */
    buffer[0] = 2.0f;
    ends_batch(10.0f);
    ck_assert_int_eq(at(TUTTI_EVENT_EVAL_START), 1);
    ck_assert_close(w[0], k * 4.0 + (1.0 - k) * 10.0, 1e-6);
    ck_assert_close(w[1], 2.0, 1e-6);
    ck_assert_close(buffer[0], k * 8.0 + (1.0 - k) * 2.0, 1e-6);
    ck_assert_int_eq(at(TUTTI_EVENT_EVAL_END), 1);
    ck_assert_close(w[0], 10.0, 0);
    ck_assert_close(buffer[0], 2.0, 0);
    subject_close(&s);
}
END_TEST

START_TEST(half_life_says_how_much_an_update_keeps)
{
    test_settings with;
    start_run();
    defaults(&with);
    test_settings_null(&with, "smoothing");
    test_settings_time(&with, "half_life", 5, TUTTI_UNIT_BATCH);
    test_settings_time(&with, "update_interval", 2, TUTTI_UNIT_BATCH);
    open_with(&with);
    ends_batch(0.0f); /* starts; no update on an odd batch */
    ends_batch(1.0f);
    (void)at(TUTTI_EVENT_EVAL_START);
    ck_assert_close(w[0], 1.0 - exp(-log(2.0) * 2.0 / 5.0), 1e-6);
    subject_close(&s);
}
END_TEST

START_TEST(averaging_begins_at_ema_start)
{
    test_settings with;
    start_run();
    defaults(&with);
    if (_i == 0)
        test_settings_time(&with, "ema_start", 3, TUTTI_UNIT_BATCH);
    else
        test_settings_dur(&with, "ema_start", 0.5);
    open_with(&with);
    for (int batch = 1; batch <= 2; batch++) {
        r.time.batch = batch;
        r.elapsed = 0.1 * batch;
        ck_assert_int_eq(at(TUTTI_EVENT_BATCH_END), 0);
        ck_assert_int_eq(at(TUTTI_EVENT_EVAL_START), 0);
    }
    r.elapsed = 0.5;
    ends_batch(6.0f);
    ck_assert_int_eq(at(TUTTI_EVENT_EVAL_START), 1);
    ck_assert_close(w[0], 6.0, 0);
    subject_close(&s);
}
END_TEST

START_TEST(a_checkpoint_that_is_due_holds_the_average)
{
    test_settings with;
    start_run();
    defaults(&with);
    open_with(&with);
    ends_batch(0.0f);
    ends_batch(8.0f); /* average 4 */
    ck_assert_int_eq(at(TUTTI_EVENT_BATCH_CHECKPOINT), 0);
    r.due = TUTTI_EVENT_BATCH_CHECKPOINT;
    ck_assert_int_eq(at(TUTTI_EVENT_BATCH_CHECKPOINT), 1);
    ck_assert_close(w[0], 4.0, 0);
    ck_assert_int_eq(at(TUTTI_EVENT_BATCH_CHECKPOINT), 0);
    ck_assert_int_eq(at(TUTTI_EVENT_EVAL_START), 0); /* it is in the model already */
    ck_assert_int_eq(at(TUTTI_EVENT_BEFORE_DATALOADER), 1);
    ck_assert_close(w[0], 8.0, 0);
    ck_assert_int_eq(at(TUTTI_EVENT_BEFORE_DATALOADER), 0);
    subject_close(&s);
}
END_TEST

/* An update at the end of an epoch whose last batch was saved takes the training weights. */
START_TEST(an_update_after_a_checkpoint_takes_the_training_weights)
{
    test_settings with;
    start_run();
    defaults(&with);
    test_settings_time(&with, "update_interval", 1, TUTTI_UNIT_EPOCH);
    open_with(&with);
    w[0] = 0.0f;
    r.time.epoch = 1;
    ck_assert_int_eq(at(TUTTI_EVENT_EPOCH_END), 1);
    w[0] = 8.0f;
    r.due = TUTTI_EVENT_BATCH_CHECKPOINT;
    ck_assert_int_eq(at(TUTTI_EVENT_BATCH_CHECKPOINT), 1);
    ck_assert_close(w[0], 0.0, 0);
    r.time.epoch = 2;
    ck_assert_int_eq(at(TUTTI_EVENT_EPOCH_END), 1);
    ck_assert_close(w[0], 8.0, 0);
    (void)at(TUTTI_EVENT_EVAL_START);
    ck_assert_close(w[0], 4.0, 0);
    subject_close(&s);
}
END_TEST

START_TEST(values_survive_a_change_of_the_tree)
{
    test_settings with;
    float other[2] = {7.0f, 7.0f};
    start_run();
    defaults(&with);
    open_with(&with);
    ends_batch(0.0f);
    ends_batch(8.0f); /* average 4 */
    const tutti_weight moved = r.weights[0];
    r.nweights = 0;
    run_weight(&r, "new.weight", shape(TUTTI_F32, 2), other, NULL);
    r.weights[r.nweights++] = moved;
    r.version++;
    (void)at(TUTTI_EVENT_EVAL_START);
    ck_assert_close(w[0], 4.0, 0);
    ck_assert_close(other[0], 7.0, 0);
    subject_close(&s);
}
END_TEST

START_TEST(a_checkpoint_carries_everything_over)
{
    test_settings with;
    tutti_state_item first[8], second[8];
    uint32_t n = 0, count = 0;
    start_run();
    defaults(&with);
    open_with(&with);
    ends_batch(0.0f);
    ends_batch(8.0f);
    r.due = TUTTI_EVENT_BATCH_CHECKPOINT;
    (void)at(TUTTI_EVENT_BATCH_CHECKPOINT); /* the model holds 4, ema holds 8 */
    const tutti_stateful_v1 *table = subject_query(&s, TUTTI_STATEFUL_V1);
    ck_assert_ok(table->items(s.self, NULL, 0, &n, &err), err);
    ck_assert_uint_eq(n, 3);
    ck_assert_ok(table->items(s.self, first, n, &count, &err), err);
    ck_assert_str_eq(first[0].name, "flags");
    ck_assert_str_eq(first[1].name, "ema.layer.weight");
    ck_assert_str_eq(first[2].name, "ema.norm.running_mean");

    subject before = s;
    open_with(&with); /* a new process */
    ck_assert_ok(table->items(s.self, second, n, &count, &err), err);
    for (uint32_t k = 0; k < n; k++) {
        ck_assert_str_eq(second[k].name, first[k].name);
        memcpy(second[k].tensor.data, first[k].tensor.data,
               tutti_nbytes(&first[k].tensor.desc));
    }
    ck_assert_int_eq(at(TUTTI_EVENT_BEFORE_DATALOADER), 1);
    ck_assert_close(w[0], 8.0, 0);
    (void)at(TUTTI_EVENT_EVAL_START);
    ck_assert_close(w[0], 4.0, 0);
    subject_close(&s);
    subject_close(&before);
}
END_TEST

START_TEST(settings_that_contradict_are_refused)
{
    test_settings with;
    defaults(&with);
    test_settings_time(&with, "half_life", 1000, TUTTI_UNIT_BATCH);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "ema", &with, TUTTI_E_ARG,
                           "ema: half_life and smoothing are both set, want one; half_life is "
                           "1000ba unless it is null");
    defaults(&with);
    test_settings_null(&with, "smoothing");
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "ema", &with, TUTTI_E_ARG,
                           "ema: neither half_life nor smoothing is set, want one");
    test_settings_time(&with, "half_life", 0, TUTTI_UNIT_BATCH);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "ema", &with, TUTTI_E_RANGE,
                           "ema: half_life is 0, want 1 or more");
    test_settings_time(&with, "half_life", 2, TUTTI_UNIT_BATCH);
    test_settings_time(&with, "update_interval", 0, TUTTI_UNIT_BATCH);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "ema", &with, TUTTI_E_RANGE,
                           "ema: update_interval is 0, want 1 or more");
    test_settings_time(&with, "update_interval", 1, TUTTI_UNIT_EPOCH);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "ema", &with, TUTTI_E_ARG,
                           "ema: half_life and update_interval are in different units, want "
                           "batches or epochs for both");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ema");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, an_update_is_the_weighted_mean_of_average_and_weight, 0, 4);
    tcase_add_test(t, half_life_says_how_much_an_update_keeps);
    tcase_add_loop_test(t, averaging_begins_at_ema_start, 0, 2);
    tcase_add_test(t, a_checkpoint_that_is_due_holds_the_average);
    tcase_add_test(t, an_update_after_a_checkpoint_takes_the_training_weights);
    tcase_add_test(t, values_survive_a_change_of_the_tree);
    tcase_add_test(t, a_checkpoint_carries_everything_over);
    tcase_add_test(t, settings_that_contradict_are_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
