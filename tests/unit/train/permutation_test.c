/* permutation_test.c - every order is a permutation, and orders differ. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/permutation.h"
#include "tutti_check.h"

static const uint64_t sizes[] = {1, 2, 3, 5, 16, 17, 1000, 4096, 4097, 50000};

START_TEST(every_sample_comes_once)
{
    const uint64_t n = sizes[_i];
    unsigned char *seen = calloc(n, 1);
    const permutation p = permutation_make(n, 17, 3);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = permutation_at(&p, i);
        ck_assert_uint_lt(at, n);
        ck_assert_int_eq(seen[at]++, 0);
    }
    free(seen);
}
END_TEST

START_TEST(epochs_and_seeds_give_other_orders)
{
    const permutation a = permutation_make(1000, 1, 0), b = permutation_make(1000, 1, 1),
                      c = permutation_make(1000, 2, 0);
    int ab = 0, ac = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        ab += permutation_at(&a, i) == permutation_at(&b, i);
        ac += permutation_at(&a, i) == permutation_at(&c, i);
    }
    /* one agreement is expected by chance; ten have a probability of 1e-7 */
    ck_assert_int_lt(ab, 10);
    ck_assert_int_lt(ac, 10);
}
END_TEST

/* Mean place of sample 0 over many seeds: uniform places have mean (n - 1) / 2 and standard error
 * n / sqrt(12 seeds); 4.5 of them fail once in 150,000 honest shuffles. */
START_TEST(a_sample_may_stand_anywhere)
{
    enum { N = 100, SEEDS = 4000 };
    double sum = 0;
    int first[N] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const permutation p = permutation_make(N, seed, 0);
        const uint64_t at = permutation_at(&p, 0);
        sum += (double)at;
        first[at]++;
    }
    ck_assert_close(sum / SEEDS, 49.5, 4.5 * N / sqrt(12.0 * SEEDS));
    double chi = 0;
    for (int k = 0; k < N; k++)
        chi += pow(first[k] - 40.0, 2) / 40.0;
    ck_assert_double_lt(chi, 99 + 4.5 * sqrt(2 * 99.0));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("permutation");
    TCase *t = tcase_create("orders");
    tcase_add_loop_test(t, every_sample_comes_once, 0, (int)(sizeof sizes / sizeof *sizes));
    tcase_add_test(t, epochs_and_seeds_give_other_orders);
    tcase_add_test(t, a_sample_may_stand_anywhere);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
