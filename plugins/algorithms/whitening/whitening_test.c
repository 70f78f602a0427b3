/* whitening_test.c - the outputs of the filters are decorrelated and of equal power; which weight gets them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"

#include "tutti/rng.h"

enum { B = 3, H = 7, W = 6, C = 3, K = 2, N = K * K * C };

static run r;
static subject s;
static tutti_error err;
static float x[B * H * W * C], filters[2 * N * N], other[4 * 9 * 8];

/* Images whose neighbours resemble each other, as photographs' do. */
static void start_run(int64_t nfilters, int64_t samples)
{
    given with;
    tutti_stream draw = tutti_stream_at(3, 5, 0, 0);
    run_init(&r);
    memset(&err, 0, sizeof err);
    for (int k = 0; k < B * H * W * C; k++)
        x[k] = (float)(tutti_stream_uniform(&draw) - 0.3 + (k >= C ? 0.8 * x[k - C] : 0.0));
    run_column(&r, "input", shape(TUTTI_F32, B, H, W, C), x);
    run_weight(&r, "patch.weight", shape(TUTTI_F32, 4, 3, 3, 8), other, NULL);
    run_weight(&r, "body.whitening.weight", shape(TUTTI_F32, nfilters, K, K, C), filters, NULL);
    given_init(&with);
    given_float(&with, "epsilon", 1e-3);
    given_int(&with, "samples", samples);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "whitening", &with,
                              r.services, &err),
                 err);
}

/* The mean over the windows of the first `samples` images of a product of two filters' outputs. */
static double moment(const float *a, const float *b, int samples)
{
    double sum = 0;
    for (int k = 0; k < samples; k++)
        for (int y = 0; y + K <= H; y++)
            for (int z = 0; z + K <= W; z++) {
                double one = 0, two = 0;
                for (int j = 0; j < N; j++) {
                    const int row = y + j / (K * C), column = z + j / C % K;
                    const double pixel = x[((k * H + row) * W + column) * C + j % C];
                    one += a[j] * pixel;
                    two += b[j] * pixel;
                }
                sum += one * two;
            }
    return sum / (samples * (H - K + 1) * (W - K + 1));
}

/* With direction e of mean square v a filter is e / sqrt(v + epsilon): its outputs have power v / (v + epsilon), and
 * |filter|^2 is 1 / (v + epsilon).  All of B images, or two of them. */
START_TEST(outputs_are_decorrelated_and_of_equal_power)
{
    const int samples = _i ? 2 : B;
    start_run(2 * N, _i ? 2 : 512);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err), 1);
    ck_assert_str_eq(err.text, "");
    double before = 0;
    for (int k = 0; k < N; k++) {
        const float *f = filters + k * N;
        double length = 0;
        for (int j = 0; j < N; j++)
            length += (double)f[j] * f[j];
        ck_assert_double_ge(length,
                            before * (1 - 1e-6)); /* directions of much power come first */
        before = length;
        ck_assert_close(moment(f, f, samples), 1 - 1e-3 * length, 1e-5);
        for (int j = 0; j < k; j++)
            ck_assert_close(moment(f, filters + j * N, samples), 0, 1e-5);
        for (int j = 0; j < N; j++)
            ck_assert_float_eq(f[N * N + j], -f[j]);
    }
    ck_assert_float_eq(other[0], 0.0f);
    subject_close(&s);
}
END_TEST

START_TEST(fewer_filters_are_the_directions_of_most_power)
{
    float all[2 * N * N];
    start_run(2 * N, 512);
    (void)run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err);
    memcpy(all, filters, sizeof all);
    subject_close(&s);
    start_run(6, 512);
    (void)run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err);
    ck_assert_mem_eq(filters, all, 3 * N * sizeof *all);
    ck_assert_mem_eq(filters + 3 * N, all + N * N, 3 * N * sizeof *all);
    subject_close(&s);
}
END_TEST

START_TEST(it_is_done_before_the_first_batch_alone)
{
    start_run(2 * N, 512);
    r.time.batch = 1;
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err), 0);
    subject_close(&s);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    start_run(7, 512);
    (void)run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err);
    ck_assert_error(
        err, TUTTI_E_SHAPE,
        "whitening: body.whitening.weight has 7 filters of 12 numbers, want an even "
        "number, at most two a number, and at most 512 numbers");
    r.columns[0].desc = shape(TUTTI_F32, B, H, W / 2, C * 2);
    memset(&err, 0, sizeof err);
    (void)run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err);
    ck_assert_error(err, TUTTI_E_NOTFOUND,
                    "whitening: the model has no convolution over 6 channels");
    r.columns[0].desc = shape(TUTTI_U8, B, H, W, C);
    memset(&err, 0, sizeof err);
    (void)run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err);
    ck_assert_error(err, TUTTI_E_SHAPE,
                    "whitening: the input is U8 (3, 7, 6, 3), want images F32 (B, H, W, C)");
    subject_close(&s);
    start_run(8, 512);
    r.columns[0].desc = shape(TUTTI_F32, B, H * W, 1, C);
    (void)run_event(&r, &s, TUTTI_EVENT_BATCH_START, &err);
    ck_assert_error(err, TUTTI_E_SHAPE,
                    "whitening: images are 42 x 1, smaller than a window of "
                    "body.whitening.weight");
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whitening");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, outputs_are_decorrelated_and_of_equal_power, 0, 2);
    tcase_add_test(t, fewer_filters_are_the_directions_of_most_power);
    tcase_add_test(t, it_is_done_before_the_first_batch_alone);
    tcase_add_test(t, what_does_not_fit_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
