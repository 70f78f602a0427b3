/* accuracy_test.c - the metric through its entry function, against values worked out by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../class_counts_check.h"

/* The average that there is without num_classes. */
static void of_all(test_settings *g)
{
    test_settings_init(g);
    test_settings_enum(g, "average", "micro", 1);
}

START_TEST(samples_whose_largest_logit_is_the_target_count)
{
    const float x[] = {0.1f,  0.9f,  0.0f,  5.0f, 1.0f, 2.0f,
                       -1.0f, -2.0f, -0.5f, 1.0f, 1.0f, 0.0f};
    const int64_t y[] = {1, 2, 2, 1};
    test_settings g;
    gauge m;
    of_all(&g);
    gauge_open(&m, "accuracy", &g);
    gauge_add(&m, x, y, 2, 3); /* right, wrong */
    ck_assert_close(gauge_read(&m), 0.5, 0.0);
    gauge_add(&m, x + 6, y + 2, 2, 3); /* right; a tie that the first class wins */
    ck_assert_close(gauge_read(&m), 0.5, 0.0);
    gauge_add(&m, x, y, 1, 3); /* batches of other sizes weigh by their samples */
    ck_assert_close(gauge_read(&m), 0.6, 1e-15);
    m.table->reset(m.subject.self);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
}
END_TEST

START_TEST(targets_may_be_i32_or_soft)
{
    const float x[] = {0.1f, 0.9f, 0.8f, 0.2f}, soft[] = {0.4f, 0.6f, 0.3f, 0.7f};
    const int32_t y[] = {1, 1};
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    gauge m;
    of_all(&g);
    gauge_open(&m, "accuracy", &g);
    ck_assert_ok(gauge_feed(&m, gauge_tensor(x, TUTTI_F32, 2, 2, 2),
                            gauge_tensor(y, TUTTI_I32, 1, 2, 0), &err),
                 err);
    ck_assert_close(gauge_read(&m), 0.5, 0.0);
    m.table->reset(m.subject.self);
    ck_assert_ok(gauge_feed(&m, gauge_tensor(x, TUTTI_F32, 2, 2, 2),
                            gauge_tensor(soft, TUTTI_F32, 2, 2, 2), &err),
                 err);
    ck_assert_close(gauge_read(&m), 0.5, 0.0);
    subject_close(&m.subject);
}
END_TEST

START_TEST(a_nan_is_never_right)
{
    const float x[] = {NAN, NAN};
    const int64_t y[] = {0};
    test_settings g;
    gauge m;
    of_all(&g);
    gauge_open(&m, "accuracy", &g);
    gauge_add(&m, x, y, 1, 2);
    ck_assert_close(gauge_read(&m), 0.0, 0.0);
    subject_close(&m.subject);
}
END_TEST

/* torchmetrics 1.9.0, by tests/peers/metrics.py: MulticlassAccuracy(6, average="micro", ignore_index=-100) of logits
 * (3, 6, 4, 5) and classes (3, 4, 5). */
START_TEST(the_pixels_of_maps_are_samples)
{
    static float x[COUNTS_ROWS * COUNTS_CLASSES];
    static int64_t y[COUNTS_ROWS];
    gauge m;
    test_settings g;
    test_settings_init(&g);
    test_settings_int(&g, "ignore_index", -100);
    test_settings_enum(&g, "average", "micro", 1);
    counts_fill(x, y);
    gauge_open(&m, "accuracy", &g);
    gauge_add_map(&m, x, y, 3, 4, 5, COUNTS_CLASSES);
    ck_assert_close(gauge_read(&m), 0.384615391, 1e-7);
    subject_close(&m.subject);
}
END_TEST

START_TEST(averages_over_classes_are_those_of_torchmetrics)
{
    ck_assert_close(counts_value("accuracy", "macro"), 0.346915573, 1e-6);
    ck_assert_close(counts_value("accuracy", "micro"), 0.384615391, 1e-6);
    ck_assert_close(counts_value("accuracy", "weighted"), 0.384615421, 1e-6);
}
END_TEST

/* the same, with top_k 2 */
START_TEST(a_target_among_the_two_largest_is_predicted)
{
    static const double want[3] = {0.611850679, 0.653846145, 0.653846204};
    counts_of_two("accuracy", want);
}
END_TEST

START_TEST(an_average_over_classes_wants_their_number)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_enum(&g, "average", "macro", 0);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_METRIC, "accuracy", &g, TUTTI_E_ARG,
                           "accuracy: an average over classes wants num_classes");
}
END_TEST

/* torchmetrics' average "none" */
START_TEST(a_class_has_a_value_of_its_own)
{
    static const double want[COUNTS_CLASSES] = {0.428571433, 0.000000000, 0.636363626,
                                                0.357142866, 0.312500000, 0.000000000};
    counts_of_each("accuracy", want);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    test_settings g;
    of_all(&g);
    gauge_refusals("accuracy", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("accuracy");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, samples_whose_largest_logit_is_the_target_count);
    tcase_add_test(tc, targets_may_be_i32_or_soft);
    tcase_add_test(tc, a_nan_is_never_right);
    tcase_add_test(tc, the_pixels_of_maps_are_samples);
    tcase_add_test(tc, a_target_among_the_two_largest_is_predicted);
    tcase_add_test(tc, averages_over_classes_are_those_of_torchmetrics);
    tcase_add_test(tc, an_average_over_classes_wants_their_number);
    tcase_add_test(tc, a_class_has_a_value_of_its_own);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
