/* whitening_test.c - the outputs of the filters are decorrelated and of equal power; which weight gets them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"

#include "layer_check.h"
#include "tutti/rng.h"

enum { B = 3, H = 7, W = 6, C = 3, K = 2, N = K * K * C };

static run r;
static subject s;
static tutti_error err;
static tree t;
static tutti_module first; /* the convolution that is looked for */
static float x[B * H * W * C], filters[2 * N * N];

/* Where the tree's set_weight writes. */
static tutti_status keep_filters(void *ctx, tutti_module m, const char *name, tutti_tensor *ret,
                                 tutti_error *ret_err)
{
    const tutti_params *p = t.table.params(ctx, m);
    ck_assert_uint_eq(m, first);
    ck_assert_str_eq(name, "weight");
    *ret =
        (tutti_tensor){filters, shape(TUTTI_F32, tutti_param_i64(p, "out_channels"), K, K, C),
                       TUTTI_DEVICE_CPU, 0};
    return TUTTI_OK;
}

static tutti_module convolution(const char *name, int64_t in, int64_t out, int64_t groups)
{
    const tutti_attr attr[4] = {tutti_attr_i("in_channels", in),
                                tutti_attr_i("out_channels", out),
                                tutti_attr_i("kernel_size", K), tutti_attr_i("groups", groups)};
    tutti_module m;
    ck_assert_ok(t.table.create(t.table.ctx, "conv2d", attr, 4, &m, &err), err);
    ck_assert_ok(t.table.add(t.table.ctx, 1, name, m, &err), err);
    return m;
}

/* The first over C channels has its turn behind one over more and one of groups. */
static void plant(int64_t nfilters)
{
    tree_init(&t);
    t.table.weight_data = keep_filters;
    (void)convolution("wide", 8, 4, 1);
    (void)convolution("grouped", C, 6, C);
    first = convolution("whitening", C, nfilters, 1);
    (void)convolution("second", C, 2, 1);
    run_service(&r, TUTTI_MODULE_V1, &t.table);
}

/* Images whose neighbours resemble each other, as photographs' do. */
static void start_run(int64_t nfilters, int64_t samples)
{
    test_settings with;
    tutti_stream draw = tutti_stream_at(3, 5, 0, 0);
    run_init(&r);
    memset(&err, 0, sizeof err);
    for (int k = 0; k < B * H * W * C; k++)
        x[k] = (float)(tutti_stream_uniform(&draw) - 0.3 + (k >= C ? 0.8 * x[k - C] : 0.0));
    run_column(&r, "input", shape(TUTTI_F32, B, H, W, C), x);
    plant(nfilters);
    test_settings_init(&with);
    test_settings_float(&with, "epsilon", 1e-3);
    test_settings_int(&with, "samples", samples);
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
    ck_assert_error(err, TUTTI_E_SHAPE,
                    "whitening: whitening has 7 filters of 12 numbers, want an even "
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
                    "whitening: images are 42 x 1, smaller than a window of whitening");
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whitening");
    TCase *c = tcase_create("all");
    tcase_add_loop_test(c, outputs_are_decorrelated_and_of_equal_power, 0, 2);
    tcase_add_test(c, fewer_filters_are_the_directions_of_most_power);
    tcase_add_test(c, it_is_done_before_the_first_batch_alone);
    tcase_add_test(c, what_does_not_fit_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
