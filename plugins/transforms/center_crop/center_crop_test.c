/* center_crop_test.c - windows in the middle, and images smaller than the window. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_check.h"

static bench b;
static test_settings g;

static void open_with(int64_t height, int64_t width)
{
    const int64_t size[2] = {height, width};
    test_settings_init(&g);
    test_settings_ints(&g, "size", size, width ? 2 : 1);
    bench_open(&b, "center_crop", &g);
}

/* Height and width of the image and of the window, and the image's row and column at the window's
 * corner, as torchvision's CenterCrop places it. */
static const int64_t cases[][6] = {
    {9, 9, 4, 4, 2, 2},  {10, 9, 5, 4, 2, 2},  {11, 9, 4, 6, 4, 2}, {7, 8, 7, 3, 0, 2},
    {3, 9, 5, 4, -1, 2}, {3, 2, 6, 5, -1, -1}, {4, 4, 9, 2, -2, 1}, {8, 5, 8, 8, 0, -1},
};

START_TEST(the_window_is_in_the_middle)
{
    const int64_t *c = cases[_i];
    const tutti_desc image = {{c[0], c[1], 3}, 3, TUTTI_U8};
    uint8_t x[512], y[512];
    tutti_desc made, d = image;
    bench_picture(x, c[0], c[1], 3);
    open_with(c[2], c[3]);
    ck_assert_ok(bench_infer(&b, &d), b.err);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 1);
    ck_assert(tutti_same_shape(&made, &d));
    ck_assert_int_eq(made.dim[0], c[2]);
    ck_assert_int_eq(made.dim[1], c[3]);
    for (int64_t r = 0; r < c[2]; r++)
        for (int64_t k = 0; k < c[3]; k++)
            for (int64_t i = 0; i < 3; i++) {
                const int64_t row = r + c[4], column = k + c[5];
                const int inside = row >= 0 && row < c[0] && column >= 0 && column < c[1];
                ck_assert_int_eq(y[(r * c[3] + k) * 3 + i],
                                 inside ? x[(row * c[1] + column) * 3 + i] : 0);
            }
    subject_close(&b.subject);
}
END_TEST

START_TEST(one_number_is_a_square)
{
    const tutti_desc image = {{4, 6, 1}, 3, TUTTI_F32};
    float x[24], y[4];
    tutti_desc made, d = {{-1, -1, 1}, 3, TUTTI_F32};
    for (int k = 0; k < 24; k++)
        x[k] = (float)k;
    open_with(2, 0);
    ck_assert_ok(bench_infer(&b, &d), b.err);
    ck_assert_int_eq(d.dim[0], 2);
    ck_assert_int_eq(d.dim[1], 2);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 1);
    ck_assert_close(y[0], 8, 0);
    ck_assert_close(y[3], 15, 0);
    subject_close(&b.subject);
}
END_TEST

START_TEST(what_has_its_size_or_is_no_image_stays)
{
    const tutti_desc label = {{0}, 0, TUTTI_I32}, image = {{2, 2, 1}, 3, TUTTI_U8};
    tutti_desc made;
    uint8_t x[4] = {0}, y[4];
    open_with(2, 0);
    ck_assert_int_eq(bench_apply(&b, &label, x, y, 0, 0, &made), 0);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 0);
    bench_refuses_maps(&b, "center_crop");
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("center_crop");
    TCase *c = tcase_create("center_crop");
    tcase_add_loop_test(c, the_window_is_in_the_middle, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, one_number_is_a_square);
    tcase_add_test(c, what_has_its_size_or_is_no_image_stays);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
