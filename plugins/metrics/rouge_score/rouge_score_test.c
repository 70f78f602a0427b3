/* rouge_score_test.c - the metric through its entry function, against torchmetrics and numbers by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../texts_check.h"

static void settings(given *g, const char *key, int which, const char *score, int number)
{
    texts_given(g);
    given_enum(g, "rouge_key", key, which);
    given_enum(g, "score", score, number);
}

/* torchmetrics 1.9.0, by tests/peers/metrics.py */
START_TEST(values_are_those_of_torchmetrics)
{
    given g;
    static const char *const keys[] = {"rouge1", "rouge2", "rougeL"};
    static const char *const scores[] = {"fmeasure", "precision", "recall"};
    static const double want[3][3] = {{0.663919449, 0.694444418, 0.639880955},
                                      {0.477272749, 0.500000000, 0.460317492},
                                      {0.638278425, 0.666666687, 0.616071403}};
    for (int k = 0; k < 9; k++) {
        settings(&g, keys[k / 3], k / 3 == 2 ? 9 : k / 3, scores[k % 3], k % 3);
        ck_assert_close(texts_value("rouge_score", &g), want[k / 3][k % 3], 1e-6);
    }
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    given g;
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
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
