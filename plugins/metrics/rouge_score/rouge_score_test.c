/* rouge_score_test.c - the metric through its entry function, against torchmetrics and numbers by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../texts_check.h"

static void settings(test_settings *g, const char *key, int which, const char *score,
                     int number)
{
    texts_given(g);
    test_settings_enum(g, "rouge_key", key, which);
    test_settings_enum(g, "score", score, number);
    test_settings_enum(g, "accumulate", "best", 0);
}

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    test_settings g;
    static const char *const keys[] = {"rouge1", "rouge2", "rougeL"};
    static const char *const scores[] = {"fmeasure", "precision", "recall"};
    static const double want[3][3] = {{0.663919449, 0.694444418, 0.639880955},
                                      {0.477272749, 0.500000000, 0.460317492},
                                      {0.638278425, 0.666666687, 0.616071403}};
    for (int k = 0; k < 9; k++) {
        settings(&g, keys[k / 3], k / 3 == 2 ? 9 : k / 3, scores[k % 3], k % 3);
        ck_assert_close(texts_value("rouge_score", &g, 0), want[k / 3][k % 3], 1e-6);
    }
}
END_TEST

/* torchmetrics 1.9.0, by tests/peers/metrics.py: the best reference, then the mean of them */
START_TEST(several_references_are_those_of_torchmetrics)
{
    test_settings g;
    static const char *const keys[] = {"rouge1", "rouge2", "rougeL"};
    static const char *const scores[] = {"fmeasure", "precision", "recall"};
    static const double want[2][3][3] = {{{0.714285672, 0.722222269, 0.715277851},
                                          {0.616666675, 0.622222185, 0.621428549},
                                          {0.658730209, 0.666666687, 0.659722269}},
                                         {{0.635922909, 0.641865075, 0.654651701},
                                          {0.425757557, 0.418518543, 0.464947104},
                                          {0.557931423, 0.557208955, 0.581900358}}};
    for (int k = 0; k < 18; k++) {
        const int avg = k / 9, key = k / 3 % 3, score = k % 3;
        settings(&g, keys[key], key == 2 ? 9 : key, scores[score], score);
        test_settings_enum(&g, "accumulate", avg ? "avg" : "best", avg);
        ck_assert_close(texts_value("rouge_score", &g, 1), want[avg][key][score], 1e-6);
    }
}
END_TEST

/* rouge_score 0.1.2, and torchmetrics 1.9.0 with lines as sentences, by tests/peers/metrics.py */
START_TEST(sentences_are_those_of_rouge_score_and_torchmetrics)
{
    static int64_t rows[2][LONGEST];
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    gauge m;
    static const char *const scores[] = {"fmeasure", "precision", "recall"};
    static const double want[SUMMARIES][3] = {{0.714285731, 0.714285731, 0.714285731},
                                              {0.5, 0.5, 0.5},
                                              {0.533333361, 0.800000012, 0.400000006}};
    for (int k = 0; k < 3 * SUMMARIES; k++) {
        settings(&g, "rougeLsum", 10, scores[k % 3], k % 3);
        texts_open(&m, "rouge_score", &g, 1);
        for (int side = 0; side < 2; side++)
            texts_row(rows[side], summaries[k / 3][side]);
        ck_assert_ok(gauge_feed(&m, gauge_tensor(rows[0], TUTTI_I64, 2, 1, LONGEST),
                                gauge_tensor(rows[1], TUTTI_I64, 2, 1, LONGEST), &err),
                     err);
        ck_assert_close(gauge_read(&m), want[k / 3][k % 3], 1e-6);
        subject_close(&m.subject);
    }
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    test_settings g;
    settings(&g, "rougeL", 9, "fmeasure", 0);
    texts_refusals("rouge_score", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rouge_score");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, several_references_are_those_of_torchmetrics);
    tcase_add_test(tc, sentences_are_those_of_rouge_score_and_torchmetrics);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
