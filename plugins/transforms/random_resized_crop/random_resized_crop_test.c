/* random_resized_crop_test.c - windows of the right areas and ratios, wherever they fit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_check.h"

enum { H = 60, W = 80 };

static bench b;
static test_settings g;

static void settings(int64_t height, int64_t width, const double scale[2],
                     const double ratio[2])
{
    const int64_t size[2] = {height, width};
    test_settings_init(&g);
    test_settings_ints(&g, "size", size, width ? 2 : 1);
    test_settings_floats(&g, "scale", scale, 2);
    test_settings_floats(&g, "ratio", ratio, 2);
    test_settings_enum(&g, "filter", "bilinear", 0);
}

/* An image whose pixels tell their row and column; a window scaled to 2 x 2 then tells itself: the
 * filter, a triangle cut off at the window's edge, has its means at 25/84 and 59/84 of a side. */
static void window_of(const float *y, double *top, double *left, double *height, double *width)
{
    *height = (y[4] - y[0]) * 84.0 / 34.0;
    *width = (y[3] - y[1]) * 84.0 / 34.0;
    *top = y[0] + 0.5 - *height * 25.0 / 84.0;
    *left = y[1] + 0.5 - *width * 25.0 / 84.0;
}

static float x[H * W * 2];
static const tutti_desc places = {{H, W, 2}, 3, TUTTI_F32};

static void fill(void)
{
    for (int r = 0; r < H; r++)
        for (int k = 0; k < W; k++) {
            x[(r * W + k) * 2] = (float)r;
            x[(r * W + k) * 2 + 1] = (float)k;
        }
}

START_TEST(areas_and_ratios_lie_within_their_bounds)
{
    static const double scale[2] = {0.3, 0.5}, ratio[2] = {0.8, 1.25};
    double least[2] = {9, 9}, most[2] = {0, 0}, corner[2] = {0, 0};
    float y[8];
    tutti_desc made, d = places;
    fill();
    settings(2, 2, scale, ratio);
    bench_open(&b, "random_resized_crop", &g);
    ck_assert_ok(bench_infer(&b, &d), b.err);
    for (uint64_t k = 0; k < 3000; k++) {
        double top, left, height, width;
        ck_assert_int_eq(bench_apply(&b, &places, x, y, 3, k, &made), 1);
        ck_assert(tutti_same_shape(&made, &d));
        window_of(y, &top, &left, &height, &width);
        ck_assert(top > -1 && left > -1 && top + height < H + 1 && left + width < W + 1);
        const double is[2] = {height * width / (H * W), width / height};
        for (int i = 0; i < 2; i++) {
            least[i] = fmin(least[i], is[i]);
            most[i] = fmax(most[i], is[i]);
        }
        corner[0] += top / 3000;
        corner[1] += left / 3000;
    }
    ck_assert_close(least[0], 0.3, 0.02);
    ck_assert_close(most[0], 0.5, 0.02);
    ck_assert_close(least[1], 0.8, 0.05);
    ck_assert_close(most[1], 1.25, 0.05);
    ck_assert_close(corner[0], (H - 43.8) / 2, 1); /* sides of 43.8 on average */
    ck_assert_close(corner[1], (W - 43.8) / 2, 1);
    subject_close(&b.subject);
}
END_TEST

START_TEST(what_never_fits_becomes_the_middle)
{
    static const double all[2] = {1, 1}, wide[2] = {4, 4}, tall[2] = {0.25, 0.25};
    double top, left, height, width;
    float y[8];
    tutti_desc made;
    fill();
    settings(2, 2, all, wide);
    bench_open(&b, "random_resized_crop", &g);
    ck_assert_int_eq(bench_apply(&b, &places, x, y, 0, 0, &made), 1);
    window_of(y, &top, &left, &height, &width);
    ck_assert_close(height, 20, 0.7); /* 80 / 4 */
    ck_assert_close(width, 80, 0.7);
    ck_assert_close(top, 20, 0.7);
    subject_close(&b.subject);
    settings(2, 2, all, tall);
    bench_open(&b, "random_resized_crop", &g);
    ck_assert_int_eq(bench_apply(&b, &places, x, y, 0, 0, &made), 1);
    window_of(y, &top, &left, &height, &width);
    ck_assert_close(height, 60, 0.7);
    ck_assert_close(width, 15, 0.7); /* 60 * 0.25 */
    ck_assert_close(left, 32, 0.7);
    subject_close(&b.subject);
}
END_TEST

START_TEST(the_whole_image_is_scaled_as_pillow_does)
{
    static const double all[2] = {1, 1}, ratio[2] = {1, 1};
    const tutti_desc image = {{17, 17, 3}, 3, TUTTI_U8};
    uint8_t in[17 * 17 * 3], y[17 * 5 * 3];
    tutti_desc made;
    bench_picture(in, 17, 17, 3);
    settings(17, 5, all, ratio);
    bench_open(&b, "random_resized_crop", &g);
    ck_assert_int_eq(bench_apply(&b, &image, in, y, 0, 0, &made), 1);
    ck_assert_uint_eq(bench_sum(y, sizeof y), 0xabb13953a7d09194u);
    subject_close(&b.subject);
}
END_TEST

START_TEST(draws_are_keyed_by_epoch_and_sample)
{
    static const double scale[2] = {0.08, 1}, ratio[2] = {0.75, 4.0 / 3};
    float y[8], again[8];
    int differ = 0;
    tutti_desc made;
    fill();
    settings(2, 0, scale, ratio);
    bench_open(&b, "random_resized_crop", &g);
    for (uint64_t k = 0; k < 100; k++) {
        (void)bench_apply(&b, &places, x, y, 1, k, &made);
        ck_assert_int_eq(made.dim[1], 2);
        (void)bench_apply(&b, &places, x, again, 1, k, &made);
        for (size_t i = 0; i < sizeof y / sizeof *y; i++)
            ck_assert(y[i] == again[i]);
        (void)bench_apply(&b, &places, x, again, 2, k, &made);
        differ += y[0] != again[0] || y[7] != again[7];
    }
    ck_assert_int_gt(differ, 95);
    subject_close(&b.subject);
}
END_TEST

START_TEST(bounds_the_wrong_way_round_are_refused)
{
    static const double scale[2] = {0.08, 1}, ratio[2] = {1.5, 0.5};
    settings(2, 0, scale, ratio);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_TRANSFORM, "random_resized_crop", &g,
                           TUTTI_E_RANGE,
                           "random_resized_crop: ratio is 1.5 to 0.5, want the smaller number "
                           "first");
}
END_TEST

START_TEST(what_is_no_image_stays)
{
    static const double all[2] = {1, 1};
    const tutti_desc label = {{0}, 0, TUTTI_I32};
    tutti_desc made, d = label;
    int32_t in = 3, y;
    settings(2, 0, all, all);
    bench_open(&b, "random_resized_crop", &g);
    ck_assert_ok(bench_infer(&b, &d), b.err);
    ck_assert_int_eq(bench_apply(&b, &label, &in, &y, 0, 0, &made), 0);
    bench_refuses_maps(&b, "random_resized_crop");
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_resized_crop");
    TCase *c = tcase_create("random_resized_crop");
    tcase_add_test(c, areas_and_ratios_lie_within_their_bounds);
    tcase_add_test(c, what_never_fits_becomes_the_middle);
    tcase_add_test(c, the_whole_image_is_scaled_as_pillow_does);
    tcase_add_test(c, draws_are_keyed_by_epoch_and_sample);
    tcase_add_test(c, bounds_the_wrong_way_round_are_refused);
    tcase_add_test(c, what_is_no_image_stays);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
