/* lookahead_test.c - where slow weights go, what the optimizer goes on from, what a checkpoint keeps of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"

#include "tutti/stateful.h"

static run r;
static subject s;
static tutti_error err;
static float w[2], g[2], buffer[1];

static void open_with(double alpha, double ramp)
{
    test_settings with;
    test_settings_init(&with);
    test_settings_int(&with, "interval", 3);
    test_settings_float(&with, "alpha", alpha);
    test_settings_float(&with, "ramp", ramp);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "lookahead", &with,
                              r.services, &err),
                 err);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_INIT, &err), 1);
}

static void start_run(double alpha, double ramp)
{
    run_init(&r);
    run_kernels(&r);
    memset(&err, 0, sizeof err);
    run_weight(&r, "layer.weight", shape(TUTTI_F32, 2), w, g);
    run_weight(&r, "norm.running_mean", shape(TUTTI_F32, 1), buffer, NULL);
    open_with(alpha, ramp);
    w[0] = 1.0f; /* as weights that are loaded, or set by an algorithm, come after init */
    w[1] = -2.0f;
    buffer[0] = 8.0f;
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err), 1);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err), 0);
}

/* The optimizer adds these numbers in a batch of a run of 10. */
static int32_t batch(float weight, float statistic)
{
    w[0] += weight;
    w[1] -= weight;
    buffer[0] += statistic;
    r.time.batch++;
    r.elapsed = (double)r.time.batch / 10.0;
    const int32_t matched = run_event(&r, &s, TUTTI_EVENT_BATCH_END, &err);
    ck_assert_str_eq(err.text, "");
    return matched;
}

static const double alphas[] = {0.5, 0.2262, 1.0, 0.0};

/* The papers' formula in f64, over a run of ten batches whose last is no multiple of the interval. */
START_TEST(slow_weights_follow_and_the_optimizer_goes_on_from_them)
{
    const double alpha = alphas[_i], ramp = _i == 1 ? 3.0 : 0.0;
    double slow[3] = {1.0, -2.0, 8.0}, fast[3] = {1.0, -2.0, 8.0};
    start_run(alpha, ramp);
    for (int k = 1; k <= 10; k++) {
        const double share =
            1.0 - (1.0 - alpha) * (ramp > 0.0 ? pow((double)k / 10.0, ramp) : 1.0);
        fast[0] += 0.25 * k;
        fast[1] -= 0.25 * k;
        fast[2] += 0.5;
        ck_assert_int_eq(batch(0.25f * (float)k, 0.5f), k % 3 == 0 || k == 10);
        for (int j = 0; j < 3; j++) {
            slow[j] += k % 3 == 0 ? share * (fast[j] - slow[j]) : 0.0;
            fast[j] = k % 3 == 0 || k == 10 ? slow[j] : fast[j];
        }
        ck_assert_close(w[0], fast[0], 2e-6); /* rounded to f32 at each step */
        ck_assert_close(w[1], fast[1], 2e-6);
        ck_assert_close(buffer[0], fast[2], 2e-6);
    }
    subject_close(&s);
}
END_TEST

START_TEST(what_does_not_change_stays_to_the_bit)
{
    start_run(0.3, 3.0);
    for (int k = 1; k <= 9; k++)
        (void)batch(0.0f, 0.0f);
    ck_assert_float_eq(w[0], 1.0f);
    ck_assert_float_eq(buffer[0], 8.0f);
    subject_close(&s);
}
END_TEST

START_TEST(a_ramp_needs_a_known_end)
{
    start_run(0.5, 1.0);
    r.time.batch = 3;
    r.elapsed = -1.0;
    (void)run_event(&r, &s, TUTTI_EVENT_BATCH_END, &err);
    ck_assert_error(err, TUTTI_E_STATE,
                    "lookahead: ramp is 1, but how long training takes is not known");
    subject_close(&s);
}
END_TEST

START_TEST(a_checkpoint_carries_the_slow_weights_over)
{
    tutti_state_item first[8], second[8];
    uint32_t n = 0, count = 0;
    start_run(0.5, 0.0);
    (void)batch(4.0f, 0.0f);
    const tutti_stateful_v1 *table = subject_query(&s, TUTTI_STATEFUL_V1);
    ck_assert_ok(table->items(s.self, NULL, 0, &n, &err), err);
    ck_assert_uint_eq(n, 3);
    ck_assert_ok(table->items(s.self, first, n, &count, &err), err);
    ck_assert_str_eq(first[1].name, "lookahead.layer.weight");
    subject before = s;
    open_with(0.5, 0.0); /* a new process */
    ck_assert_ok(table->items(s.self, second, n, &count, &err), err);
    for (uint32_t k = 0; k < n; k++)
        memcpy(second[k].tensor.data, first[k].tensor.data,
               tutti_nbytes(&first[k].tensor.desc));
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err), 0);
    (void)batch(2.0f, 0.0f);
    (void)batch(2.0f, 0.0f);
    ck_assert_close(w[0], 1.0 + 0.5 * 8.0, 0);
    subject_close(&s);
    subject_close(&before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lookahead");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, slow_weights_follow_and_the_optimizer_goes_on_from_them, 0, 4);
    tcase_add_test(t, what_does_not_change_stays_to_the_bit);
    tcase_add_test(t, a_ramp_needs_a_known_end);
    tcase_add_test(t, a_checkpoint_carries_the_slow_weights_over);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
