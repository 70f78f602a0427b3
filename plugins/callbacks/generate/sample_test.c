/* sample_test.c - draws from logits, against probabilities worked out by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"
#include "tutti_check.h"

START_TEST(draws_follow_the_distribution)
{
    /* softmax: 1/8, 5/8, 2/8 */
    const float logits[] = {0.0f, logf(5.0f), logf(2.0f)};
    float scratch[4];
    ck_assert_int_eq(sample_token(logits, 3, 1.0, 0, 0.0, scratch), 0);
    ck_assert_int_eq(sample_token(logits, 3, 1.0, 0, 0.124, scratch), 0);
    ck_assert_int_eq(sample_token(logits, 3, 1.0, 0, 0.126, scratch), 1);
    ck_assert_int_eq(sample_token(logits, 3, 1.0, 0, 0.749, scratch), 1);
    ck_assert_int_eq(sample_token(logits, 3, 1.0, 0, 0.751, scratch), 2);
    ck_assert_int_eq(sample_token(logits, 3, 1.0, 0, 1.0, scratch), 2); /* rounded up */
    /* temperature 1/2 squares them: 1/30, 25/30, 4/30 */
    ck_assert_int_eq(sample_token(logits, 3, 0.5, 0, 0.032, scratch), 0);
    ck_assert_int_eq(sample_token(logits, 3, 0.5, 0, 0.034, scratch), 1);
    ck_assert_int_eq(sample_token(logits, 3, 0.5, 0, 0.868, scratch), 2);
    ck_assert_int_eq(sample_token(logits, 3, 0.0, 0, 0.999, scratch), 1);
    /* of two: 5/7, 2/7 */
    ck_assert_int_eq(sample_token(logits, 3, 1.0, 2, 0.0, scratch), 1);
    ck_assert_int_eq(sample_token(logits, 3, 1.0, 2, 0.713, scratch), 1);
    ck_assert_int_eq(sample_token(logits, 3, 1.0, 2, 0.715, scratch), 2);
    ck_assert_int_eq(sample_token(logits, 3, 1.0, 1, 0.999, scratch), 1);
    ck_assert_int_eq(sample_token(logits, 3, 1.0, 9, 0.0, scratch), 0);
    const float ties[] = {1.0f, 2.0f, 1.0f, -INFINITY}, broken[] = {0.0f, INFINITY};
    ck_assert_int_eq(sample_token(ties, 4, 1.0, 2, 0.999, scratch), 2); /* both ones count */
    ck_assert_int_eq(sample_token(ties, 4, 1.0, 0, 1.0, scratch), 2);
    ck_assert_int_eq(sample_token(broken, 2, 1.0, 0, 0.5, scratch), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sample");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, draws_follow_the_distribution);
    return tutti_run(suite);
}
