/* dice_score_test.c - the metric through its entry function, against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../class_counts_check.h"

static float x[COUNTS_ROWS * COUNTS_CLASSES];
static int64_t y[COUNTS_ROWS];

/* Three maps of 4 x 5 pixels without ignored ones, the second without class 3. */
static void maps_fill(void)
{
    counts_fill(x, y);
    for (uint32_t r = 0; r < COUNTS_ROWS; r++) {
        y[r] = counts_number(1000 + r) % (COUNTS_CLASSES - 1);
        y[r] = r / 20 == 1 && y[r] == 3 ? 2 : y[r];
    }
}

static void settings(test_settings *g, int background, const char *average, int which,
                     int global)
{
    test_settings_init(g);
    test_settings_int(g, "num_classes", COUNTS_CLASSES);
    test_settings_bool(g, "include_background", background);
    test_settings_enum(g, "average", average, which);
    test_settings_enum(g, "aggregation_level", global ? "global" : "samplewise", global);
    test_settings_int(g, "ignore_index", -100);
}

/* torchmetrics 1.9.0, by tests/peers/metrics.py: DiceScore(6, input_format="index") */
START_TEST(values_are_those_of_torchmetrics)
{
    static const char *const averages[] = {"macro", "micro", "weighted"};
    static const double want[2][2][3] = {
        {{0.313605845, 0.367647052, 0.419632465}, {0.300884694, 0.350000024, 0.388911098}},
        {{0.328810602, 0.367346942, 0.396747828}, {0.317593932, 0.349999994, 0.380211711}}};
    maps_fill();
    for (int k = 0; k < 12; k++) {
        const int global = k / 6, background = k / 3 % 2, which = k % 3;
        test_settings g;
        gauge m;
        settings(&g, background, averages[which], which, global);
        gauge_open(&m, "dice_score", &g);
        gauge_add_map(&m, x, y, 1, 4, 5, COUNTS_CLASSES);
        gauge_add_map(&m, x + 20 * COUNTS_CLASSES, y + 20, 2, 4, 5, COUNTS_CLASSES);
        ck_assert_close(gauge_read(&m), want[global][background][which], 1e-6);
        m.table->reset(m.subject.self);
        ck_assert(isnan(gauge_read(&m)));
        subject_close(&m.subject);
    }
}
END_TEST

START_TEST(ignored_pixels_are_neither_targets_nor_predictions)
{
    static const float two[] = {1, 0, 0, 1, 1, 0, 0, 1};
    static const int64_t classes[] = {0, 1, 1, -100};
    test_settings g;
    gauge m;
    settings(&g, 1, "micro", 1, 0);
    test_settings_int(&g, "num_classes", 2);
    gauge_open(&m, "dice_score", &g);
    gauge_add_map(&m, two, classes, 1, 2, 2, 2);
    ck_assert_close(gauge_read(&m), 4.0 / 6.0, 1e-12);
    subject_close(&m.subject);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    counts_refusals("dice_score");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dice_score");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, values_are_those_of_torchmetrics);
    tcase_add_test(tc, ignored_pixels_are_neither_targets_nor_predictions);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
