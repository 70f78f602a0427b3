/* cross_entropy_test.c - the metric through its entry function, against values worked out by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../metric_check.h"

START_TEST(classes_and_batches_of_any_size_give_the_mean)
{
    /* softmax(0, log 3) = 1/4, 3/4; softmax(0, 0) = 1/2, 1/2 */
    const float x[] = {0.0f, 1.0986122886681098f, 0.0f, 0.0f, 0.0f, 1.0986122886681098f};
    const int64_t y[] = {1, 0, 0};
    const double all = -(log(0.75) + log(0.5) + log(0.25)) / 3.0;
    gauge m;
    gauge_open(&m, "cross_entropy", NULL);
    gauge_add(&m, x, y, 3, 2);
    ck_assert_close(gauge_read(&m), all, 1e-7); /* log 3 is rounded to f32 */
    m.table->reset(m.subject.self);
    gauge_add(&m, x, y, 1, 2);
    gauge_add(&m, x + 2, y + 1, 2, 2);
    ck_assert_close(gauge_read(&m), all, 1e-7);
    subject_close(&m.subject);
}
END_TEST

START_TEST(soft_targets_are_weighed_by_their_sum)
{
    const float x[] = {0.0f, 1.0986122886681098f, 0.0f, 0.0f};
    const float y[] = {0.5f, 0.5f, 0.0f, 2.0f};
    tutti_error err = TUTTI_ERROR_INIT;
    gauge m;
    gauge_open(&m, "cross_entropy", NULL);
    ck_assert_ok(gauge_feed(&m, gauge_tensor(x, TUTTI_F32, 2, 2, 2),
                            gauge_tensor(y, TUTTI_F32, 2, 2, 2), &err),
                 err);
    const double want = -(0.5 * log(0.25) + 0.5 * log(0.75) + 2.0 * log(0.5)) / 3.0;
    ck_assert_close(gauge_read(&m), want, 1e-7);
    subject_close(&m.subject);
}
END_TEST

START_TEST(large_logits_do_not_overflow_and_nan_shows)
{
    const float x[] = {1e4f, 0.0f}, broken[] = {NAN, 0.0f};
    const int64_t y[] = {1};
    gauge m;
    gauge_open(&m, "cross_entropy", NULL);
    gauge_add(&m, x, y, 1, 2);
    ck_assert_close(gauge_read(&m), 1e4, 1e-9);
    gauge_add(&m, broken, y, 1, 2);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    gauge_refusals("cross_entropy", NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cross_entropy");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, classes_and_batches_of_any_size_give_the_mean);
    tcase_add_test(tc, soft_targets_are_weighed_by_their_sum);
    tcase_add_test(tc, large_logits_do_not_overflow_and_nan_shows);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
