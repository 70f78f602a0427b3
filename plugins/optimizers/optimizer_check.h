/* optimizer_check.h - tests an optimizer plugin against its definition: a test file gives settings and one step in
 * f64, optimizer_run does the rest. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPTIMIZER_CHECK_H
#define OPTIMIZER_CHECK_H

#include "optimizer_drill.h"
#include "tutti/half.h"
#include "warning_check.h"

#include <math.h>
#include <stdio.h>

/* 2e-6: twelve steps of f32 on numbers below 2, where a rounding is 1e-7.  The definition is torch's to 1e-9. */
START_TEST(steps_are_as_defined)
{
    const optimizer_variant *v = &optimizer_tested.variants[_i];
    double want[DRILL_N];
    drill d;
    drill_open(&d, v);
    ck_assert_close(d.table->lr, optimizer_tested.lr, 0.0);
    for (int64_t i = 0; i < DRILL_N; i++) {
        double state[TUTTI_OPTIMIZER_MAX_SLOTS] = {0.0};
        want[i] = d.w[i];
        for (int64_t t = 1; t <= DRILL_STEPS; t++) {
            const optimizer_step s = {v,           drill_rate(d.table->lr, t),
                                      d.table->lr, drill_gradient(t, i),
                                      t,           &want[i],
                                      state};
            optimizer_tested.step(&s);
        }
    }
    drill_run(&d, 0);
    for (int64_t i = 0; i < DRILL_N; i++)
        ck_assert_close(d.w[i], want[i], 2e-6);
    for (int64_t i = 0; i < 4 && v->torch[0] != 0.0; i++) {
        ck_assert_close(want[i], v->torch[i], 1e-9);
        ck_assert_close(d.w[i], v->torch[i], 1e-6);
    }
    subject_close(&d.subject);
}
END_TEST

/* Weights and state are the same bits wherever the arena is cut. */
START_TEST(results_do_not_depend_on_cuts)
{
    const optimizer_variant *v = &optimizer_tested.variants[_i];
    drill whole, cut;
    drill_open(&whole, v);
    drill_run(&whole, 0);
    for (int64_t k = 1; k < DRILL_N; k++) {
        drill_open(&cut, v);
        drill_run(&cut, k);
        ck_assert_mem_eq(cut.w, whole.w, sizeof cut.w);
        ck_assert_mem_eq(cut.slot, whole.slot, sizeof cut.slot);
        subject_close(&cut.subject);
    }
    subject_close(&whole.subject);
}
END_TEST

/* With a copy in 16 bits weights and state are the same, and the copy is theirs rounded.  Nothing is
 * written where no copy is wanted. */
START_TEST(a_copy_in_16_bits_is_the_weights_rounded)
{
    static const int32_t dtypes[] = {TUTTI_BF16, TUTTI_F16};
    const optimizer_variant *v = &optimizer_tested.variants[_i];
    drill plain, with;
    drill_open(&plain, v);
    ck_assert_uint_eq(plain.table->writes_low, 1);
    drill_run(&plain, 5);
    for (int64_t i = 0; i < DRILL_N; i++)
        ck_assert_uint_eq(plain.low[i], 0);
    for (int k = 0; k < 2; k++) {
        drill_open(&with, v);
        with.low_dtype = dtypes[k];
        drill_run(&with, 5);
        ck_assert_mem_eq(with.w, plain.w, sizeof with.w);
        ck_assert_mem_eq(with.slot, plain.slot, sizeof with.slot);
        for (int64_t i = 0; i < DRILL_N; i++)
            ck_assert_uint_eq(with.low[i], tutti_to_half(with.w[i], dtypes[k]));
        subject_close(&with.subject);
    }
    subject_close(&plain.subject);
}
END_TEST

static inline void open_with_decay(double weight_decay)
{
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    test_settings g;
    settings_of(&g, &optimizer_tested.variants[0]);
    test_settings_float(&g, "weight_decay", weight_decay);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_OPTIMIZER, optimizer_tested.name, &g,
                              warning_services, &err),
                 err);
    subject_close(&s);
}

START_TEST(a_large_decay_is_warned_about)
{
    char want[160];
    open_with_decay(0.0009);
    ck_assert_str_eq(warning_last, "");
    open_with_decay(0.02);
    (void)snprintf(want, sizeof want,
                   "2 %s: weight_decay 0.02 is large: this decay is not multiplied by the "
                   "learning rate",
                   optimizer_tested.name);
    ck_assert_str_eq(warning_last, want);
}
END_TEST

START_TEST(a_rate_of_zero_still_decays)
{
    tutti_error err = TUTTI_ERROR_INIT;
    float w[1] = {1.0f}, gradient[1] = {1.0f}, slot[TUTTI_OPTIMIZER_MAX_SLOTS][1] = {{0.0f}};
    subject s;
    test_settings g;
    settings_of(&g, &optimizer_tested.variants[0]);
    test_settings_float(&g, "lr", 0.0);
    test_settings_float(&g, "weight_decay", 0.02);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_OPTIMIZER, optimizer_tested.name, &g,
                              NULL, &err),
                 err);
    const tutti_optimizer_v1 *table =
        (const tutti_optimizer_v1 *)subject_query(&s, TUTTI_OPTIMIZER_V1);
    tutti_update u = {
        .struct_size = (uint32_t)sizeof u, .n = 1, .w = w, .g = gradient, .step = 1};
    for (uint32_t k = 0; k < table->nslots; k++)
        u.slot[k] = slot[k];
    table->update(s.self, &u);
    ck_assert_close(w[0], 0.98, 1e-7);
    subject_close(&s);
}
END_TEST

/* Runs all of it, with `more` (or NULL), a function that adds tests of this optimizer alone. */
static inline int optimizer_run(void (*more)(TCase *tc))
{
    const int n = optimizer_tested.nvariants;
    Suite *suite = suite_create(optimizer_tested.name);
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, steps_are_as_defined, 0, n);
    tcase_add_loop_test(tc, results_do_not_depend_on_cuts, 0, n);
    tcase_add_loop_test(tc, a_copy_in_16_bits_is_the_weights_rounded, 0, n);
    if (optimizer_tested.decoupled) {
        tcase_add_test(tc, a_large_decay_is_warned_about);
        tcase_add_test(tc, a_rate_of_zero_still_decays);
    }
    if (more)
        more(tc);
    return tutti_run(suite);
}

#endif
