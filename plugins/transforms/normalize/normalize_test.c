/* normalize_test.c - (x / 255 - mean) / std against the formula in double precision. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_check.h"

static bench b;
static test_settings g;

static void settings(uint32_t nmean, uint32_t nstd)
{
    static const double mean[] = {0.5, 0.25, 0.1, 0.2}, std[] = {0.5, 2.0, 0.3, 0.1};
    test_settings_init(&g);
    test_settings_floats(&g, "mean", mean, nmean);
    test_settings_floats(&g, "std", std, nstd);
}

START_TEST(every_channel_has_its_own_mean_and_deviation)
{
    static const double mean[] = {0.5, 0.25, 0.1, 0.2}, std[] = {0.5, 2.0, 0.3, 0.1};
    const int64_t channels = _i;
    const tutti_desc image = {{2, 3, channels}, 3, TUTTI_U8};
    tutti_desc d = image, made;
    uint8_t x[24];
    float y[24];
    for (int k = 0; k < 24; k++)
        x[k] = (uint8_t)(k * 11);
    settings((uint32_t)channels, (uint32_t)channels);
    bench_open(&b, "normalize", &g);
    ck_assert_ok(bench_infer(&b, &d), b.err);
    ck_assert_int_eq(d.dtype, TUTTI_F32);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 1);
    ck_assert(tutti_same_shape(&made, &image));
    ck_assert_int_eq(made.dtype, TUTTI_F32);
    for (int64_t k = 0; k < 6 * channels; k++)
        ck_assert_close(y[k], (x[k] / 255.0 - mean[k % channels]) / std[k % channels], 1e-5);
    subject_close(&b.subject);
}
END_TEST

/* Longer than the blocks in which it is done, and not a multiple of them. */
START_TEST(large_images_are_done_to_their_end)
{
    static const double mean[] = {0.5, 0.25, 0.1, 0.2, 0.3}, std[] = {0.5, 2.0, 0.3, 0.1, 1.0};
    const int64_t channels = _i;
    const tutti_desc image = {{7, 11, channels}, 3, TUTTI_U8};
    uint8_t x[7 * 11 * 5];
    float y[7 * 11 * 5];
    tutti_desc made;
    bench_picture(x, 7, 11, channels);
    test_settings_init(&g);
    test_settings_floats(&g, "mean", mean, (uint32_t)channels);
    test_settings_floats(&g, "std", std, (uint32_t)channels);
    bench_open(&b, "normalize", &g);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 1);
    for (int64_t k = 0; k < 77 * channels; k++)
        ck_assert_close(y[k], (x[k] / 255.0 - mean[k % channels]) / std[k % channels], 1e-5);
    subject_close(&b.subject);
}
END_TEST

START_TEST(floats_are_not_divided_by_255)
{
    const tutti_desc image = {{1, 2, 2}, 3, TUTTI_F32};
    const float x[4] = {0.0f, 0.5f, 1.0f, -2.0f};
    float y[4];
    tutti_desc made, d = image;
    settings(2, 2);
    bench_open(&b, "normalize", &g);
    ck_assert_ok(bench_infer(&b, &d), b.err);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 1);
    ck_assert(tutti_same_shape(&made, &d));
    ck_assert_close(y[0], -1.0, 1e-6);
    ck_assert_close(y[1], 0.125, 1e-6);
    ck_assert_close(y[2], 1.0, 1e-6);
    ck_assert_close(y[3], -1.125, 1e-6);
    subject_close(&b.subject);
}
END_TEST

START_TEST(other_columns_stay)
{
    const tutti_desc label = {{0}, 0, TUTTI_I32}, real = {{2, 2}, 2, TUTTI_F32};
    tutti_desc d = label, made;
    float x[12] = {0}, y[12];
    settings(3, 3);
    bench_open(&b, "normalize", &g);
    ck_assert_ok(bench_infer(&b, &d), b.err);
    ck_assert_int_eq(d.dtype, TUTTI_I32);
    ck_assert_int_eq(bench_apply(&b, &label, x, y, 0, 0, &made), 0);
    ck_assert_int_eq(bench_apply(&b, &real, x, y, 0, 0, &made), 0);
    subject_close(&b.subject);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    tutti_desc d = {{2, 2, 1}, 3, TUTTI_U8};
    settings(3, 2);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_TRANSFORM, "normalize", &g, TUTTI_E_ARG,
                           "normalize: mean has 3 entries and std 2");
    settings(3, 3);
    bench_open(&b, "normalize", &g);
    ck_assert_int_eq(bench_infer(&b, &d), TUTTI_E_SHAPE);
    ck_assert_error(b.err, TUTTI_E_SHAPE,
                    "normalize: column input has 1 channels, mean and std have 3");
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("normalize");
    TCase *c = tcase_create("normalize");
    tcase_add_loop_test(c, every_channel_has_its_own_mean_and_deviation, 1, 5);
    tcase_add_loop_test(c, large_images_are_done_to_their_end, 1, 6);
    tcase_add_test(c, floats_are_not_divided_by_255);
    tcase_add_test(c, other_columns_stay);
    tcase_add_test(c, what_does_not_fit_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
