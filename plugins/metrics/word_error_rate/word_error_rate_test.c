/* word_error_rate_test.c - the metric through its entry function, against torchmetrics and numbers by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../texts_check.h"

static void settings(test_settings *g)
{
    texts_given(g);
}

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    test_settings g;
    settings(&g);
    ck_assert_close(texts_value("word_error_rate", &g, 0), 0.454545468, 1e-6);
}
END_TEST

/* Steps of a ctc output: blank 0; 1 1 - 2 - 2 3 is 1 2 2 3, of 1 2 3 one word too many. */
START_TEST(steps_with_a_blank_are_read_as_the_loss_ctc_reads_them)
{
    static const int64_t steps[] = {1, 1, 0, 2, 0, 2, 3}, target[] = {1, 2, 3, -100};
    float x[7 * 4] = {0};
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    gauge m;
    for (int k = 0; k < 7; k++)
        x[4 * k + steps[k]] = 1.0f;
    settings(&g);
    test_settings_int(&g, "blank", 0);
    texts_open(&m, "word_error_rate", &g, 0);
    tutti_tensor outputs = gauge_tensor(x, TUTTI_F32, 2, 1, 7);
    outputs.desc = (tutti_desc){{1, 7, 4}, 3, TUTTI_F32};
    ck_assert_ok(gauge_feed(&m, outputs, gauge_tensor(target, TUTTI_I64, 2, 1, 4), &err), err);
    ck_assert_close(gauge_read(&m), 1.0 / 3.0, 1e-12);
    subject_close(&m.subject);
}
END_TEST

/* Without a vocabulary tokens are words; predictions beside targets that are ignored are none. */
START_TEST(predictions_stand_beside_their_targets)
{
    static const int32_t said[] = {7, 2, 3, 9}, target[] = {-100, 2, 4, 9};
    float x[4 * 10] = {0};
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    gauge m;
    for (int k = 0; k < 4; k++)
        x[10 * k + said[k]] = 1.0f;
    settings(&g);
    texts_open(&m, "word_error_rate", &g, 0);
    tutti_tensor outputs = gauge_tensor(x, TUTTI_F32, 2, 1, 4);
    outputs.desc = (tutti_desc){{1, 4, 10}, 3, TUTTI_F32};
    ck_assert_ok(gauge_feed(&m, outputs, gauge_tensor(target, TUTTI_I32, 2, 1, 4), &err), err);
    ck_assert_close(gauge_read(&m), 1.0 / 3.0, 1e-12);
    subject_close(&m.subject);
}
END_TEST

/* Outputs that are tokens are a text of their own, as long as the target or not. */
START_TEST(tokens_are_a_text)
{
    static const int32_t said[] = {7, 2, 3, -1}, target[] = {-100, 2, 4, 9};
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    gauge m;
    settings(&g);
    texts_open(&m, "word_error_rate", &g, 0);
    ck_assert_ok(gauge_feed(&m, gauge_tensor(said, TUTTI_I32, 2, 1, 4),
                            gauge_tensor(target, TUTTI_I32, 2, 1, 4), &err),
                 err);
    ck_assert_close(gauge_read(&m), 1.0, 1e-12); /* 7 2 3 to 2 4 9 */
    subject_close(&m.subject);
}
END_TEST

/* One that stands in several rows is one; two are one too many, and nothing is counted. */
START_TEST(a_sample_has_one_reference)
{
    static const int32_t said[] = {1, 2}, one[] = {1, 3, -1, -1}, two[] = {1, 2, 1, 3};
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    gauge m;
    settings(&g);
    texts_open(&m, "word_error_rate", &g, 0);
    tutti_tensor targets = {.data = (void *)(uintptr_t)one,
                            .desc = {{1, 2, 2}, 3, TUTTI_I32},
                            .device = TUTTI_DEVICE_CPU};
    const tutti_tensor outputs = gauge_tensor(said, TUTTI_I32, 2, 1, 2);
    ck_assert_ok(gauge_feed(&m, outputs, targets, &err), err);
    targets.data = (void *)(uintptr_t)two;
    ck_assert_int_eq(gauge_feed(&m, outputs, targets, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_error(err, TUTTI_E_UNSUPPORTED,
                    "word_error_rate: a sample has 2 references, want one; bleu_score and "
                    "rouge_score take several");
    ck_assert_close(gauge_read(&m), 0.5, 1e-12);
    subject_close(&m.subject);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    test_settings g;
    settings(&g);
    texts_refusals("word_error_rate", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("word_error_rate");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, steps_with_a_blank_are_read_as_the_loss_ctc_reads_them);
    tcase_add_test(tc, predictions_stand_beside_their_targets);
    tcase_add_test(tc, tokens_are_a_text);
    tcase_add_test(tc, a_sample_has_one_reference);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
