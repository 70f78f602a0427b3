/* weight_check.h - tests an optimizer plugin that updates whole weights against the numbers of another implementation:
 * a test file gives settings, shapes and answers, weight_run does the rest. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIGHT_CHECK_H
#define WEIGHT_CHECK_H

#include "weight_drill.h"

#include "tutti/half.h"

#include <math.h>

START_TEST(steps_are_those_of_the_other)
{
    const weight_variant *v = &weight_tested.variants[_i];
    double sum = 0.0;
    weight_drill d;
    weight_open(&d, v);
    weight_steps(&d, false);
    for (int64_t i = 0; i < d.n; i++)
        sum += (double)d.w[i] * (double)d.w[i];
    for (int i = 0; i < WEIGHT_ANSWERS; i++)
        ck_assert_close(d.w[i], v->want[i], v->within);
    ck_assert_close(sqrt(sum), v->norm, 1e-6 * v->norm);
    weight_close(&d);
}
END_TEST

START_TEST(results_do_not_depend_on_the_order_of_parts)
{
    const weight_variant *v = &weight_tested.variants[_i];
    weight_drill there, back;
    weight_open(&there, v);
    weight_open(&back, v);
    weight_steps(&there, false);
    weight_steps(&back, true);
    ck_assert_mem_eq(there.w, back.w, (size_t)there.n * sizeof *there.w);
    for (uint32_t k = 0; k < v->nslots; k++)
        if (there.slot[k])
            ck_assert_mem_eq(there.slot[k], back.slot[k], tutti_nbytes(&there.shape[k]));
    weight_close(&there);
    weight_close(&back);
}
END_TEST

START_TEST(a_copy_in_16_bits_is_the_weight_rounded)
{
    static const int32_t dtypes[] = {TUTTI_BF16, TUTTI_F16};
    const weight_variant *v = &weight_tested.variants[_i];
    weight_drill plain, with;
    weight_open(&plain, v);
    ck_assert_uint_eq(plain.table->writes_low, 1);
    weight_steps(&plain, false);
    for (int64_t i = 0; i < plain.n; i++)
        ck_assert_uint_eq(plain.low[i], 0);
    for (int k = 0; k < 2; k++) {
        weight_open(&with, v);
        with.low_dtype = dtypes[k];
        weight_steps(&with, false);
        ck_assert_mem_eq(with.w, plain.w, (size_t)plain.n * sizeof *plain.w);
        for (int64_t i = 0; i < plain.n; i++)
            ck_assert_uint_eq(with.low[i], tutti_to_half(with.w[i], dtypes[k]));
        weight_close(&with);
    }
    weight_close(&plain);
}
END_TEST

/* Runs all of it, with `more` (or NULL), a function that adds tests of this optimizer alone. */
static inline int weight_run(void (*more)(TCase *tc))
{
    const int n = weight_tested.nvariants;
    Suite *suite = suite_create(weight_tested.name);
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, steps_are_those_of_the_other, 0, n);
    tcase_add_loop_test(tc, results_do_not_depend_on_the_order_of_parts, 0, n);
    tcase_add_loop_test(tc, a_copy_in_16_bits_is_the_weight_rounded, 0, n);
    if (more)
        more(tc);
    return tutti_run(suite);
}

#endif
