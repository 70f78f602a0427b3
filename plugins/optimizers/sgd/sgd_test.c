/* sgd_test.c - the optimizer through its entry function, against its definition in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../optimizer_check.h"

typedef struct variant {
    double momentum;
    double dampening;
    double weight_decay;
    int nesterov;
    uint32_t nslots;
} variant;

/* plain, momentum, Nesterov */
static const variant variants[] = {
    {0, 0, 0.02, 0, 0},
    {0.9, 0.1, 0.02, 0, 1},
    {0.9, 0, 0.02, 1, 1},
};

static void settings(given *g, const variant *v)
{
    given_init(g);
    given_float(g, "lr", 0.1);
    given_float(g, "momentum", v->momentum);
    given_float(g, "dampening", v->dampening);
    given_float(g, "weight_decay", v->weight_decay);
    given_bool(g, "nesterov", v->nesterov);
}

/* The definition, in f64. */
static void reference(const drill *d, const variant *v, double *w)
{
    for (int64_t i = 0; i < DRILL_N; i++) {
        double buf = 0.0;
        w[i] = d->w[i];
        for (int64_t t = 1; t <= DRILL_STEPS; t++) {
            const double lr = drill_rate(d, t);
            double g = drill_gradient(t, i);
            g += v->weight_decay * w[i];
            if (v->momentum != 0.0) {
                buf = t == 1 ? g : v->momentum * buf + (1.0 - v->dampening) * g;
                g = v->nesterov ? g + v->momentum * buf : buf;
            }
            w[i] -= lr * g;
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
    drill_open(&d, "sgd", &g, v->nslots);
    ck_assert_close(d.table->lr, 0.1, 0.0);
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
    drill_cuts("sgd", &g, variants[_i].nslots);
}
END_TEST

START_TEST(a_copy_in_16_bits_is_the_weights_rounded)
{
    given g;
    settings(&g, &variants[_i]);
    drill_low("sgd", &g, variants[_i].nslots);
}
END_TEST

START_TEST(nesterov_needs_momentum_and_no_dampening)
{
    given g;
    settings(&g, &variants[0]);
    given_bool(&g, "nesterov", 1);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_OPTIMIZER, "sgd", &g, TUTTI_E_ARG,
                           "sgd: nesterov needs a momentum above 0 and a dampening of 0");
    settings(&g, &variants[1]);
    given_bool(&g, "nesterov", 1);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_OPTIMIZER, "sgd", &g, TUTTI_E_ARG,
                           "sgd: nesterov needs a momentum above 0 and a dampening of 0");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sgd");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, steps_are_as_defined, 0, 3);
    tcase_add_loop_test(tc, results_do_not_depend_on_stretches, 0, 3);
    tcase_add_loop_test(tc, a_copy_in_16_bits_is_the_weights_rounded, 0, 3);
    tcase_add_test(tc, nesterov_needs_momentum_and_no_dampening);
    return tutti_run(suite);
}
