/* reduce_test.c - numbers of ranks, against sums in long double and integers by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/ranks_service.h"
#include "train/ranks/reduce.h"
#include "tutti/tensor.h"

#include "tutti_check.h"
#include <stdint.h>

enum { RANKS = 5, NUMBERS = 7 };

/* Of very different size, so that another order gives other bits. */
static double number(int rank, int k)
{
    const double sizes[] = {1e-9, 3.0, -7e8, 0.11, 5e15};
    return sizes[(rank * 3 + k) % 5] * (1.0 + (rank * 131 + k * 17) % 97 / 97.0);
}

START_TEST(reals_are_joined_in_the_order_of_ranks)
{
    double all[RANKS][NUMBERS], got[NUMBERS];
    float small[RANKS][NUMBERS], got_small[NUMBERS];
    for (int r = 0; r < RANKS; r++)
        for (int k = 0; k < NUMBERS; k++)
            small[r][k] = (float)(all[r][k] = number(r, k));
    const reduce_input from = {all, sizeof *all, RANKS}, narrow = {small, sizeof *small, RANKS};
    for (int32_t op = TUTTI_RANKS_SUM; op <= TUTTI_RANKS_PRODUCT; op++) {
        reduce_numbers(got, &from, NUMBERS, TUTTI_F64, op);
        reduce_numbers(got_small, &narrow, NUMBERS, TUTTI_F32, op);
        for (int k = 0; k < NUMBERS; k++) {
            long double sum = 0.0L, size = 0.0L, product = 1.0L;
            double least = all[0][k], most = all[0][k], exact = 0.0;
            for (int r = 0; r < RANKS; r++) {
                sum += all[r][k];
                size += fabsl(all[r][k]);
                exact += (double)small[r][k];
                product *= all[r][k];
                least = fmin(least, all[r][k]);
                most = fmax(most, all[r][k]);
            }
            const long double want[] = {sum, sum / RANKS, least, most, product};
            const long double near = op == TUTTI_RANKS_PRODUCT ? fabsl(product) : size;
            ck_assert_close(got[k], want[op], near * 1e-15L); /* RANKS roundings of 2^-53 */
            ck_assert_close(got_small[k], want[op], near * 4e-7L); /* those of RANKS inputs */
            if (op == TUTTI_RANKS_SUM)
                ck_assert(got_small[k] == (float)exact);
        }
    }
}
END_TEST

START_TEST(nan_is_least_and_greatest_whoever_has_it)
{
    for (int r = 0; r < RANKS; r++) {
        double all[RANKS] = {3.0, 1.0, 2.0, 5.0, 4.0}, got;
        const reduce_input from = {all, sizeof *all, RANKS};
        reduce_numbers(&got, &from, 1, TUTTI_F64, TUTTI_RANKS_MIN);
        ck_assert(got == 1.0);
        reduce_numbers(&got, &from, 1, TUTTI_F64, TUTTI_RANKS_MAX);
        ck_assert(got == 5.0);
        all[r] = (double)NAN;
        for (int32_t op = TUTTI_RANKS_SUM; op <= TUTTI_RANKS_PRODUCT; op++) {
            reduce_numbers(&got, &from, 1, TUTTI_F64, op);
            ck_assert(isnan(got));
        }
    }
}
END_TEST

START_TEST(integers_wrap)
{
    const int32_t small[3][2] = {{INT32_MAX, -5}, {1, 7}, {1, -2}};
    const int64_t large[2][2] = {{INT64_MAX, 1 - INT64_MAX}, {2, -2}};
    const reduce_input narrow = {small, sizeof *small, 3}, wide = {large, sizeof *large, 2};
    const int32_t want[][2] = {[TUTTI_RANKS_SUM] = {INT32_MIN + 1, 0},
                               [TUTTI_RANKS_MIN] = {1, -5},
                               [TUTTI_RANKS_MAX] = {INT32_MAX, 7},
                               [TUTTI_RANKS_PRODUCT] = {INT32_MAX, 70}};
    int32_t got[2];
    int64_t got_large[2];
    for (int32_t op = TUTTI_RANKS_SUM; op <= TUTTI_RANKS_PRODUCT; op++) {
        if (op == TUTTI_RANKS_MEAN)
            continue;
        reduce_numbers(got, &narrow, 2, TUTTI_I32, op);
        ck_assert_int_eq(got[0], want[op][0]);
        ck_assert_int_eq(got[1], want[op][1]);
    }
    reduce_numbers(got_large, &wide, 2, TUTTI_I64, TUTTI_RANKS_SUM);
    ck_assert_int_eq(got_large[0], INT64_MIN + 1);
    ck_assert_int_eq(got_large[1], -INT64_MAX - 1);
    reduce_numbers(got_large, &wide, 2, TUTTI_I64, TUTTI_RANKS_PRODUCT);
    ck_assert_int_eq(got_large[0], -2);
    ck_assert_int_eq(got_large[1], -4);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    tutti_error e[3] = {TUTTI_ERROR_INIT, TUTTI_ERROR_INIT, TUTTI_ERROR_INIT};
    ck_assert_int_eq(reduce_check(TUTTI_BF16, TUTTI_RANKS_SUM, &e[0]), TUTTI_E_ARG);
    ck_assert_error(e[0], TUTTI_E_ARG,
                    "all_reduce: numbers are BF16, want F32, F64, I32 or I64");
    ck_assert_int_eq(reduce_check(TUTTI_F32, 5, &e[1]), TUTTI_E_ARG);
    ck_assert_error(e[1], TUTTI_E_ARG, "all_reduce: 5 is no TUTTI_RANKS_*");
    ck_assert_int_eq(reduce_check(TUTTI_I64, TUTTI_RANKS_MEAN, &e[2]), TUTTI_E_ARG);
    ck_assert_error(e[2], TUTTI_E_ARG, "all_reduce: a mean of I64, want F32 or F64");
}
END_TEST

START_TEST(one_rank_has_all_operations)
{
    ranks_service r = {.world = NULL};
    ranks_service_init(&r);
    const tutti_ranks_v1 *t = &r.table;
    tutti_error e = TUTTI_ERROR_INIT;
    double x = 2.5, all = 0.0;
    const void *texts;
    const uint64_t *ends;
    int64_t first, count;
    ck_assert_int_eq(t->rank(t->ctx), 0);
    ck_assert_int_eq(t->size(t->ctx), 1);
    ck_assert_str_eq(t->comm(t->ctx), "none");
    ck_assert_ok(t->all_reduce(t->ctx, &x, 1, TUTTI_F64, TUTTI_RANKS_MEAN, &e), e);
    ck_assert_ok(t->all_gather(t->ctx, &x, &all, sizeof x, &e), e);
    ck_assert(x == 2.5 && all == 2.5);
    ck_assert_ok(t->all_gather_any(t->ctx, "text", 4, &texts, &ends, &e), e);
    ck_assert(memcmp(texts, "text", 4) == 0 && ends[0] == 4);
    ck_assert_ok(t->all_gather_any(t->ctx, NULL, 0, &texts, &ends, &e), e);
    ck_assert_int_eq(ends[0], 0);
    ck_assert_ok(t->broadcast(t->ctx, &x, sizeof x, 0, &e), e);
    ck_assert_ok(t->barrier(t->ctx, &e), e);
    ck_assert_ok(t->begin_first(t->ctx, 0, &e), e);
    ck_assert_ok(t->end_first(t->ctx, 0, &e), e);
    t->share(t->ctx, 9, &first, &count);
    ck_assert(first == 0 && count == 9);
    ck_assert_int_eq(t->broadcast(t->ctx, &x, sizeof x, 1, &e), TUTTI_E_ARG);
    ck_assert_error(e, TUTTI_E_ARG, "broadcast: there is no rank 1, want 0 to 0");
    ranks_service_fini(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduce");
    TCase *c = tcase_create("all");
    tcase_add_test(c, reals_are_joined_in_the_order_of_ranks);
    tcase_add_test(c, nan_is_least_and_greatest_whoever_has_it);
    tcase_add_test(c, integers_wrap);
    tcase_add_test(c, what_cannot_be_is_refused);
    tcase_add_test(c, one_rank_has_all_operations);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
