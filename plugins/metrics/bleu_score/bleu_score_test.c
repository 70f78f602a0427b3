/* bleu_score_test.c - the metric through its entry function, against torchmetrics and numbers by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../texts_check.h"

static void settings(test_settings *g, int64_t n, int smooth)
{
    texts_given(g);
    test_settings_int(g, "n_gram", n);
    test_settings_bool(g, "smooth", smooth);
    test_settings_null(g, "weights");
}

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    test_settings g;
    static const double want[3][2] = {
        {0.593138814, 0.593138814}, {0.487313271, 0.497794360}, {0.380216688, 0.405957967}};
    for (int k = 0; k < 6; k++) {
        settings(&g, 1 << (k / 2), k % 2);
        ck_assert_close(texts_value("bleu_score", &g, 0), want[k / 2][k % 2], 1e-6);
    }
}
END_TEST

/* torchmetrics 1.9.0, by tests/peers/metrics.py: of 1, 2 and 4 words, not smooth and smooth */
START_TEST(several_references_are_those_of_torchmetrics)
{
    test_settings g;
    static const double want[3][2] = {
        {0.695986152, 0.695986152}, {0.629543126, 0.637315571}, {0.472351402, 0.500090897}};
    for (int k = 0; k < 6; k++) {
        settings(&g, 1 << (k / 2), k % 2);
        ck_assert_close(texts_value("bleu_score", &g, 1), want[k / 2][k % 2], 1e-6);
    }
}
END_TEST

/* torchmetrics 1.9.0, by tests/peers/metrics.py: with one reference, then with several */
START_TEST(weights_are_those_of_torchmetrics)
{
    test_settings g;
    static const double weights[] = {0.5, 0.3, 0.15, 0.05},
                        want[2] = {0.463826478, 0.582538307};
    for (int several = 0; several < 2; several++) {
        settings(&g, 4, 0);
        test_settings_floats(&g, "weights", weights, 4);
        ck_assert_close(texts_value("bleu_score", &g, several), want[several], 1e-6);
    }
}
END_TEST

START_TEST(weights_are_as_many_as_n_gram)
{
    static const double weights[] = {0.5, 0.5};
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    subject it;
    settings(&g, 4, 0);
    test_settings_floats(&g, "weights", weights, 2);
    ck_assert_int_eq(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_METRIC, "bleu_score", &g, NULL, &err),
        TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "bleu_score: weights has 2 numbers, n_gram is 4: want one for each");
}
END_TEST

START_TEST(nothing_in_common_is_zero)
{
    static const int64_t said[] = {1, 2}, target[] = {3, 4};
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    gauge m;
    settings(&g, 1, 0);
    texts_open(&m, "bleu_score", &g, 0);
    ck_assert_ok(gauge_feed(&m, gauge_tensor(said, TUTTI_I64, 2, 1, 2),
                            gauge_tensor(target, TUTTI_I64, 2, 1, 2), &err),
                 err);
    ck_assert_close(gauge_read(&m), 0.0, 0.0);
    subject_close(&m.subject);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    test_settings g;
    settings(&g, 4, 0);
    texts_refusals("bleu_score", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bleu_score");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, several_references_are_those_of_torchmetrics);
    tcase_add_test(tc, weights_are_those_of_torchmetrics);
    tcase_add_test(tc, weights_are_as_many_as_n_gram);
    tcase_add_test(tc, nothing_in_common_is_zero);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
