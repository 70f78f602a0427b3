/* lamb_test.c - the optimizer through its entry function, against timm 1.0.31. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../weight_check.h"

/* usual; without corrections, whole gradients, clipped; no decay, so no ratio; no decay and a ratio; decoupled,
 * of several pieces; gradients shortened to a norm of 3 */
static const weight_variant variants[] = {
    {{{"bias_correction", 'b', 1, 0},
      {"betas", 'p', 0.9, 0.999},
      {"eps", 'f', 1e-06, 0},
      {"weight_decay", 'f', 0.01, 0},
      {"grad_averaging", 'b', 1, 0},
      {"trust_clip", 'b', 0, 0},
      {"always_adapt", 'b', 0, 0},
      {"decoupled_decay", 'b', 0, 0},
      {"max_grad_norm", 'f', 0, 0}},
     NULL,
     2,
     2,
     {5, 7},
     {-0.8033677710, -0.4105324064, -0.9845692072, -1.0081928851},
     3.9698397831,
     1e-6},
    {{{"bias_correction", 'b', 0, 0},
      {"betas", 'p', 0.9, 0.999},
      {"eps", 'f', 1e-06, 0},
      {"weight_decay", 'f', 0.1, 0},
      {"grad_averaging", 'b', 0, 0},
      {"trust_clip", 'b', 1, 0},
      {"always_adapt", 'b', 0, 0},
      {"decoupled_decay", 'b', 0, 0},
      {"max_grad_norm", 'f', 0, 0}},
     NULL,
     2,
     1,
     {67},
     {-0.8030504998, -0.4108345765, -0.9854216842, -1.0085847304},
     5.2586765069,
     1e-6},
    {{{"bias_correction", 'b', 1, 0},
      {"betas", 'p', 0.5, 0.9},
      {"eps", 'f', 1e-06, 0},
      {"weight_decay", 'f', 0, 0},
      {"grad_averaging", 'b', 1, 0},
      {"trust_clip", 'b', 0, 0},
      {"always_adapt", 'b', 0, 0},
      {"decoupled_decay", 'b', 0, 0},
      {"max_grad_norm", 'f', 0, 0}},
     NULL,
     2,
     1,
     {9},
     {-0.7875638143, -0.4130749680, -0.9736700409, -1.0023844037},
     2.4224451478,
     1e-6},
    {{{"bias_correction", 'b', 1, 0},
      {"betas", 'p', 0.9, 0.999},
      {"eps", 'f', 0.001, 0},
      {"weight_decay", 'f', 0, 0},
      {"grad_averaging", 'b', 1, 0},
      {"trust_clip", 'b', 0, 0},
      {"always_adapt", 'b', 1, 0},
      {"decoupled_decay", 'b', 0, 0},
      {"max_grad_norm", 'f', 0, 0}},
     NULL,
     2,
     4,
     {3, 2, 3, 3},
     {-0.8043514206, -0.4108791479, -0.9858539881, -1.0090288447},
     4.8526004086,
     1e-6},
    {{{"bias_correction", 'b', 1, 0},
      {"betas", 'p', 0.9, 0.999},
      {"eps", 'f', 1e-06, 0},
      {"weight_decay", 'f', 0.1, 0},
      {"grad_averaging", 'b', 1, 0},
      {"trust_clip", 'b', 0, 0},
      {"always_adapt", 'b', 0, 0},
      {"decoupled_decay", 'b', 1, 0},
      {"max_grad_norm", 'f', 0, 0}},
     NULL,
     2,
     2,
     {130, 300},
     {-0.7939865779, -0.4066032149, -0.9762200094, -0.9984378379},
     112.9287749389,
     1e-6},
    {{{"bias_correction", 'b', 1, 0},
      {"betas", 'p', 0.9, 0.999},
      {"eps", 'f', 1e-06, 0},
      {"weight_decay", 'f', 0.01, 0},
      {"grad_averaging", 'b', 1, 0},
      {"trust_clip", 'b', 0, 0},
      {"always_adapt", 'b', 0, 0},
      {"decoupled_decay", 'b', 0, 0},
      {"max_grad_norm", 'f', 3, 0}},
     NULL,
     2,
     2,
     {5, 7},
     {-0.8053824905, -0.4090338524, -0.9840039588, -1.0102320921},
     3.9727715017,
     1e-6},
};

const weight_case weight_tested = {"lamb", 0.01, variants, sizeof variants / sizeof *variants};

/* One step of variants[0] in f64: FusedLAMB of NVIDIA's apex (multi_tensor_lamb), which divides gradients by
 * max(1, norm / max_grad_norm) before anything else. */
static void lamb_reference(double *w, double *m, double *v, const weight_drill *d, double lr,
                           int64_t t, double max_grad_norm)
{
    double of_g = 0.0, of_w = 0.0, of_step = 0.0, step[67];
    for (int64_t i = 0; i < d->n; i++)
        of_g += (double)d->g[i] * (double)d->g[i];
    const double by = sqrt(of_g) > max_grad_norm ? sqrt(of_g) / max_grad_norm : 1.0;
    for (int64_t i = 0; i < d->n; i++) {
        const double g = (double)d->g[i] / by;
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.999 * v[i] + 0.001 * g * g;
        const double unbiased = m[i] / (1.0 - pow(0.9, (double)t));
        step[i] = unbiased / (sqrt(v[i] / (1.0 - pow(0.999, (double)t))) + 1e-6) + 0.01 * w[i];
        of_w += w[i] * w[i];
        of_step += step[i] * step[i];
    }
    for (int64_t i = 0; i < d->n; i++)
        w[i] -= lr * sqrt(of_w / of_step) * step[i];
}

/* Rows: below some of the norms of the drill's gradients of 35 weights, far below all, above all. */
static const double most[] = {3.4, 0.01, 100.0};

/* 2e-6: twelve steps of f32 on numbers below 2, where a rounding is 1e-7. */
START_TEST(gradients_above_max_grad_norm_are_shortened)
{
    weight_variant one = variants[0];
    double w[67], m[67] = {0.0}, v[67] = {0.0};
    weight_drill d, reference;
    int shortened = 0;
    one.settings[8].value = most[_i];
    weight_open(&d, &one);
    weight_open(&reference, &one);
    ck_assert_uint_eq(d.table->reads_norm, 1);
    for (int64_t i = 0; i < d.n; i++)
        w[i] = (double)d.w[i];
    weight_steps(&d, false);
    for (int64_t t = 1; t <= DRILL_STEPS; t++) {
        for (int64_t i = 0; i < d.n; i++)
            reference.g[i] = drill_gradient(t, i);
        shortened += weight_norm(&reference) > most[_i];
        lamb_reference(w, m, v, &reference, drill_rate(d.table->lr, t), t, most[_i]);
    }
    ck_assert_int_ge(shortened, _i == 2 ? 0 : 1);
    ck_assert_int_le(shortened, _i == 0 ? DRILL_STEPS - 1 : _i == 1 ? DRILL_STEPS : 0);
    for (int64_t i = 0; i < d.n; i++)
        ck_assert_close(d.w[i], w[i], 2e-6);
    weight_close(&d);
    weight_close(&reference);
}
END_TEST

START_TEST(without_max_grad_norm_the_norm_is_not_asked_for)
{
    weight_drill d;
    weight_open(&d, &variants[0]);
    ck_assert_uint_eq(d.table->reads_norm, 0);
    weight_close(&d);
}
END_TEST

static void lamb_tests(TCase *tc)
{
    tcase_add_loop_test(tc, gradients_above_max_grad_norm_are_shortened, 0, 3);
    tcase_add_test(tc, without_max_grad_norm_the_norm_is_not_asked_for);
}

int main(void)
{
    return weight_run(lamb_tests);
}
