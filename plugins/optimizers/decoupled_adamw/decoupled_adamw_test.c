/* decoupled_adamw_test.c - the optimizer through its entry function, against its definition in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../optimizer_check.h"
#include "warning_check.h"

typedef struct variant {
    double beta1;
    double beta2;
    double weight_decay;
    int amsgrad;
    uint32_t nslots;
} variant;

/* usual, AMSGrad, no momentum and no decay */
static const variant variants[] = {
    {0.9, 0.95, 0.02, 0, 2},
    {0.9, 0.95, 0.02, 1, 3},
    {0.0, 0.5, 0.0, 0, 2},
};

static void settings(given *g, const variant *v)
{
    given_init(g);
    const double betas[] = {v->beta1, v->beta2};
    given_float(g, "lr", 0.01);
    given_floats(g, "betas", betas, 2);
    given_float(g, "eps", 1e-8);
    given_float(g, "weight_decay", v->weight_decay);
    given_bool(g, "amsgrad", v->amsgrad);
}

/* The definition, in f64. */
static void reference(const drill *d, const variant *v, double *w)
{
    for (int64_t i = 0; i < DRILL_N; i++) {
        double mean = 0.0, square = 0.0, most = 0.0;
        w[i] = d->w[i];
        for (int64_t t = 1; t <= DRILL_STEPS; t++) {
            const double lr = drill_rate(d, t), g = drill_gradient(t, i);
            w[i] *= 1.0 - lr / d->table->lr * v->weight_decay;
            mean = v->beta1 * mean + (1.0 - v->beta1) * g;
            square = v->beta2 * square + (1.0 - v->beta2) * g * g;
            most = v->amsgrad ? fmax(most, square) : square;
            const double unbiased = sqrt(most) / sqrt(1.0 - pow(v->beta2, (double)t));
            w[i] -= lr / (1.0 - pow(v->beta1, (double)t)) * mean / (unbiased + 1e-8);
        }
    }
}

START_TEST(steps_are_as_defined)
{
    const variant *v = &variants[_i];
    double want[DRILL_N];
    drill d;
    given g;
    settings(&g, v);
    drill_open(&d, "decoupled_adamw", &g, v->nslots);
    ck_assert_close(d.table->lr, 0.01, 0.0);
    reference(&d, v, want);
    drill_run(&d, 0);
    drill_compare(&d, want);
    subject_close(&d.subject);
}
END_TEST

START_TEST(results_do_not_depend_on_stretches)
{
    given g;
    settings(&g, &variants[_i]);
    drill_cuts("decoupled_adamw", &g, variants[_i].nslots);
}
END_TEST

START_TEST(a_copy_in_16_bits_is_the_weights_rounded)
{
    given g;
    settings(&g, &variants[_i]);
    drill_low("decoupled_adamw", &g, variants[_i].nslots);
}
END_TEST

START_TEST(a_large_decay_is_warned_about)
{
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    given g;
    settings(&g, &variants[0]);
    given_float(&g, "weight_decay", 0.0009);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_OPTIMIZER, "decoupled_adamw", &g,
                              warning_services, &err),
                 err);
    subject_close(&s);
    ck_assert_str_eq(warning_last, "");
    given_float(&g, "weight_decay", 0.02);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_OPTIMIZER, "decoupled_adamw", &g,
                              warning_services, &err),
                 err);
    subject_close(&s);
    ck_assert_str_eq(warning_last,
                     "2 decoupled_adamw: weight_decay 0.02 is large: this decay is not "
                     "multiplied by the learning rate");
}
END_TEST

START_TEST(a_rate_of_zero_still_decays)
{
    drill d;
    given g;
    float gradient[1] = {1.0f};
    settings(&g, &variants[0]);
    given_float(&g, "lr", 0.0);
    drill_open(&d, "decoupled_adamw", &g, variants[0].nslots);
    d.w[0] = 1.0f;
    tutti_update u = {
        .struct_size = (uint32_t)sizeof u, .n = 1, .w = d.w, .g = gradient, .step = 1};
    for (uint32_t k = 0; k < d.table->nslots; k++)
        u.slot[k] = d.slot[k];
    d.table->update(d.subject.self, &u);
    ck_assert_close(d.w[0], 0.98, 1e-7);
    subject_close(&d.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decoupled_adamw");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, steps_are_as_defined, 0, 3);
    tcase_add_loop_test(tc, results_do_not_depend_on_stretches, 0, 3);
    tcase_add_loop_test(tc, a_copy_in_16_bits_is_the_weights_rounded, 0, 3);
    tcase_add_test(tc, a_large_decay_is_warned_about);
    tcase_add_test(tc, a_rate_of_zero_still_decays);
    return tutti_run(suite);
}
