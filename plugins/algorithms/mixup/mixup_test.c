/* mixup_test.c - inputs, targets and losses mixed with the same permutation and weight. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../common/beta.h"
#include "../algorithm_check.h"

enum { B = 8, WIDTH = 5, CLASSES = 3 };

static run r;
static subject s;
static tutti_error err;
static float x[B * WIDTH], first[B * WIDTH], outputs[B * CLASSES];
static int32_t labels[B];

static void start(double alpha, int interpolate)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_float(&g, "alpha", alpha);
    test_settings_bool(&g, "interpolate_loss", interpolate);
    memset(&err, 0, sizeof err);
    run_init(&r);
    run_kernels(&r);
    for (int k = 0; k < B * WIDTH; k++) /* row b holds 10^b-like, telling values */
        x[k] = first[k] =
            (float)((k / WIDTH) * (k / WIDTH) + 1) * (k % WIDTH == 0 ? 1.0f : 0.5f);
    for (int k = 0; k < B; k++)
        labels[k] = k % CLASSES;
    run_column(&r, "input", shape(TUTTI_F32, B, WIDTH), x);
    run_column(&r, "target", shape(TUTTI_I32, B), labels);
    run_column(&r, "outputs", shape(TUTTI_F32, B, CLASSES), outputs);
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "mixup", &g, r.services, &err),
        err);
}

/* The input as it is now. */
static const float *input(void)
{
    return r.columns[0].data;
}

/* The row that, mixed with weight m, explains row b, or -1. */
static int mixed_with(int b, double m)
{
    for (int p = 0; p < B; p++) {
        int fits = 1;
        for (int k = 0; k < WIDTH; k++)
            fits &= fabs((double)input()[b * WIDTH + k] -
                         ((1.0 - m) * (double)first[b * WIDTH + k] +
                          m * (double)first[p * WIDTH + k])) < 1e-4;
        if (fits)
            return p;
    }
    return -1;
}

START_TEST(inputs_and_targets_have_the_same_permutation_and_weight)
{
    start(1.0, 0);
    r.time.batch = _i;
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BEFORE_FORWARD, &err), 1);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BEFORE_LOSS, &err), 1);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BEFORE_BACKWARD, &err), 0);
    ck_assert_str_eq(err.text, "");
    const float *y = r.columns[1].data;
    ck_assert_int_eq(r.columns[1].desc.dtype, TUTTI_F32);
    ck_assert(tutti_same_shape(&r.columns[1].desc, &r.columns[RUN_COLUMNS].desc));
    double m = 0.0; /* from the first row that is mixed with another class */
    for (int b = 0; b < B && m == 0.0; b++)
        m = 1.0 - (double)y[b * CLASSES + labels[b]];
    ck_assert(m > 0.0 && m <= 0.5);
    int seen[B] = {0};
    for (int b = 0; b < B; b++) {
        const int p = mixed_with(b, m);
        ck_assert_int_ge(p, 0);
        ck_assert_int_eq(seen[p]++, 0); /* a permutation */
        for (int c = 0; c < CLASSES; c++)
            ck_assert_close(y[b * CLASSES + c],
                            (1.0 - m) * (labels[b] == c) + m * (labels[p] == c), 1e-6);
    }
    subject_close(&s);
}
END_TEST

START_TEST(losses_are_mixed_instead_when_asked)
{
    start(1.0, 1);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BEFORE_FORWARD, &err), 1);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BEFORE_LOSS, &err), 0);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BEFORE_BACKWARD, &err), 1);
    ck_assert_str_eq(err.text, "");
    ck_assert_ptr_eq(r.columns[1].data, labels); /* targets stay */
    ck_assert_int_eq(r.mixed.target.desc.dtype, TUTTI_I32);
    ck_assert(r.mixed.weight > 0.0 && r.mixed.weight <= 0.5);
    for (int b = 0; b < B; b++) {
        const int p = mixed_with(b, r.mixed.weight);
        ck_assert_int_ge(p, 0);
        ck_assert_int_eq(r.mixed.data[b], labels[p]);
    }
    subject_close(&s);
}
END_TEST

START_TEST(draws_depend_on_seed_batch_and_microbatch_alone)
{
    float got[5][B * WIDTH];
    for (int k = 0; k < 5; k++) {
        start(1.0, 0);
        r.seed = k == 1 ? 18 : 17;
        r.time.batch = k == 2 ? 5 : 4;
        r.microbatch = k == 3 ? 1 : 0;
        if (k == 4) { /* another batch first: no matter */
            r.time.batch = 3;
            (void)run_event(&r, &s, TUTTI_EVENT_BEFORE_FORWARD, &err);
            r.columns[0].data = x;
            r.time.batch = 4;
        }
        (void)run_event(&r, &s, TUTTI_EVENT_BEFORE_FORWARD, &err);
        memcpy(got[k], input(), sizeof x);
        subject_close(&s);
    }
    for (int k = 1; k < 4; k++)
        ck_assert_mem_ne(got[k], got[0], sizeof x);
    ck_assert_mem_eq(got[4], got[0], sizeof x);
}
END_TEST

START_TEST(alpha_0_leaves_everything_alone)
{
    start(0.0, _i);
    (void)run_event(&r, &s, TUTTI_EVENT_BEFORE_FORWARD, &err);
    (void)run_event(&r, &s, TUTTI_EVENT_BEFORE_LOSS, &err);
    (void)run_event(&r, &s, TUTTI_EVENT_BEFORE_BACKWARD, &err);
    ck_assert_mem_eq(input(), first, sizeof x);
    ck_assert_ptr_eq(r.columns[1].data, labels);
    ck_assert_ptr_null(r.mixed.target.data);
    subject_close(&s);
}
END_TEST

START_TEST(bytes_are_refused_with_the_way_out)
{
    uint8_t bytes[B * WIDTH] = {0};
    start(1.0, 0);
    r.columns[0] = (tutti_tensor){bytes, shape(TUTTI_U8, B, WIDTH), TUTTI_DEVICE_CPU, 0};
    (void)run_event(&r, &s, TUTTI_EVENT_BEFORE_FORWARD, &err);
    ck_assert_error(err, TUTTI_E_ARG,
                    "mixup: the input is U8 (8, 5), want F32; add the transform normalize");
    subject_close(&s);
}
END_TEST

/* Beta(a, a) has mean 1/2 and variance 1 / (4 (2 a + 1)).  40000 draws: the mean's standard error is
 * at most 0.0025 and the variance's about 0.0007; 5 of them are allowed. */
START_TEST(beta_draws_have_the_right_moments)
{
    static const double alphas[] = {0.05, 0.2, 1.0, 3.0};
    tutti_stream stream = tutti_stream_at(1, TUTTI_RNG_PLUGIN, 0, (uint64_t)_i);
    double sum = 0.0, squares = 0.0;
    const int n = 40000;
    for (int k = 0; k < n; k++) {
        const double v = beta_symmetric(&stream, alphas[_i]);
        ck_assert(v >= 0.0 && v <= 1.0);
        sum += v;
        squares += (v - 0.5) * (v - 0.5);
    }
    ck_assert_close(sum / n, 0.5, 0.0125);
    ck_assert_close(squares / n, 0.25 / (2.0 * alphas[_i] + 1.0), 0.0035);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mixup");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, inputs_and_targets_have_the_same_permutation_and_weight, 0, 5);
    tcase_add_test(t, losses_are_mixed_instead_when_asked);
    tcase_add_test(t, draws_depend_on_seed_batch_and_microbatch_alone);
    tcase_add_loop_test(t, alpha_0_leaves_everything_alone, 0, 2);
    tcase_add_test(t, bytes_are_refused_with_the_way_out);
    tcase_add_loop_test(t, beta_draws_have_the_right_moments, 0, 4);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
