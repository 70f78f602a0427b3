/* resize_test.c - sizes, and every byte against Pillow's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_check.h"

static bench b;
static test_settings g;

static void open_with(int64_t height, int64_t width, int bicubic)
{
    const int64_t size[2] = {height, width};
    test_settings_init(&g);
    test_settings_ints(&g, "size", size, width ? 2 : 1);
    test_settings_enum(&g, "filter", bicubic ? "bicubic" : "bilinear", bicubic);
    bench_open(&b, "resize", &g);
}

typedef struct scaling {
    int64_t height, width, channels, to_height, to_width;
    int bicubic;
    uint64_t want; /* sum of what Pillow 9.4's Image.resize makes */
} scaling;

static const scaling scalings[] = {
    {5, 7, 3, 3, 4, 0, 0xbf16d6ffb38f741bu},      {5, 7, 3, 3, 4, 1, 0xbbb501488fc4ff02u},
    {5, 7, 3, 10, 13, 0, 0x7721c5230e4cc871u},    {5, 7, 3, 10, 13, 1, 0xc9e23266a2d716b5u},
    {64, 48, 3, 32, 24, 0, 0x699db6a60be785cdu},  {64, 48, 3, 32, 24, 1, 0x252db899ce248dbdu},
    {33, 47, 1, 32, 32, 0, 0x169875e138ce6f27u},  {33, 47, 1, 32, 32, 1, 0xee3b5f9c3d293975u},
    {100, 37, 3, 21, 90, 0, 0x9951085cefd10331u}, {100, 37, 3, 21, 90, 1, 0x75de9c1c49e2935fu},
    {17, 17, 3, 17, 5, 0, 0xabb13953a7d09194u},   {17, 17, 3, 17, 5, 1, 0x0253d7527ec4a5f4u},
    {8, 300, 3, 20, 17, 0, 0x1ebd23f1ee511373u},  {8, 300, 3, 20, 17, 1, 0x4f528b42c6812f04u},
    {2, 3, 1, 1, 1, 0, 0xaf63d24c8601db8eu},      {2, 3, 1, 1, 1, 1, 0xaf63d24c8601db8eu},
};

START_TEST(bytes_are_those_of_pillow)
{
    const scaling *c = &scalings[_i];
    const tutti_desc image = {{c->height, c->width, c->channels}, 3, TUTTI_U8};
    static uint8_t x[16384], y[16384];
    tutti_desc made, inferred = image;
    bench_picture(x, c->height, c->width, c->channels);
    open_with(c->to_height, c->to_width, c->bicubic);
    ck_assert_ok(bench_infer(&b, &inferred), b.err);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 1);
    ck_assert(tutti_same_shape(&made, &inferred));
    ck_assert_int_eq(made.dim[0], c->to_height);
    ck_assert_int_eq(made.dim[1], c->to_width);
    ck_assert_uint_eq(bench_sum(y, tutti_nbytes(&made)), c->want);
    subject_close(&b.subject);
}
END_TEST

START_TEST(a_shrunk_image_is_smoothed)
{
    /* Pillow's bytes, for whoever wants to see some */
    static const uint8_t want[12] = {22, 41, 64, 83, 83, 109, 141, 167, 143, 178, 188, 112};
    const tutti_desc image = {{5, 7, 1}, 3, TUTTI_U8};
    uint8_t x[35], y[12];
    tutti_desc made;
    bench_picture(x, 5, 7, 1);
    open_with(3, 4, 0);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 1);
    ck_assert_mem_eq(y, want, sizeof want);
    subject_close(&b.subject);
}
END_TEST

START_TEST(floats_agree_with_bytes)
{
    const scaling *c = &scalings[_i];
    const tutti_desc bytes = {{c->height, c->width, c->channels}, 3, TUTTI_U8};
    const tutti_desc floats = {{c->height, c->width, c->channels}, 3, TUTTI_F32};
    static uint8_t x[16384], y[16384];
    static float real[16384], got[16384];
    tutti_desc made;
    bench_picture(x, c->height, c->width, c->channels);
    for (int64_t k = 0; k < tutti_numel(&bytes); k++)
        real[k] = x[k];
    open_with(c->to_height, c->to_width, c->bicubic);
    ck_assert_int_eq(bench_apply(&b, &bytes, x, y, 0, 0, &made), 1);
    ck_assert_int_eq(bench_apply(&b, &floats, real, got, 0, 0, &made), 1);
    ck_assert_int_eq(made.dtype, TUTTI_F32);
    for (int64_t k = 0; k < tutti_numel(&made); k++)
        if (y[k] > 0 && y[k] < 255)
            ck_assert_close(got[k], y[k], c->bicubic ? 20.0 : 1.0); /* clipped in between */
    subject_close(&b.subject);
}
END_TEST

START_TEST(the_shorter_side_is_set_and_the_ratio_kept)
{
    static const int64_t cases[][5] = {{256, 500, 375, 341, 256}, {256, 375, 500, 256, 341},
                                       {32, 32, 32, 32, 32},      {7, 3, 10, 7, 23},
                                       {224, 225, 224, 225, 224}, {8, -1, 40, -1, -1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tutti_desc d = {{cases[k][1], cases[k][2], 3}, 3, TUTTI_U8};
        open_with(cases[k][0], 0, 0);
        ck_assert_ok(bench_infer(&b, &d), b.err);
        ck_assert_int_eq(d.dim[0], cases[k][3]);
        ck_assert_int_eq(d.dim[1], cases[k][4]);
        ck_assert_int_eq(d.dim[2], 3);
        subject_close(&b.subject);
    }
}
END_TEST

START_TEST(what_has_its_size_or_is_no_image_stays)
{
    const tutti_desc label = {{0}, 0, TUTTI_I32}, image = {{2, 3, 1}, 3, TUTTI_U8};
    tutti_desc made, d = {{-1, -1, 3}, 3, TUTTI_U8};
    uint8_t x[6] = {0}, y[6];
    open_with(2, 3, 0);
    ck_assert_int_eq(bench_apply(&b, &label, x, y, 0, 0, &made), 0);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 0);
    ck_assert_ok(bench_infer(&b, &d), b.err);
    ck_assert_int_eq(d.dim[0], 2);
    ck_assert_int_eq(d.dim[1], 3);
    bench_refuses_maps(&b, "resize");
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resize");
    TCase *c = tcase_create("resize");
    const int n = (int)(sizeof scalings / sizeof *scalings);
    tcase_add_loop_test(c, bytes_are_those_of_pillow, 0, n);
    tcase_add_test(c, a_shrunk_image_is_smoothed);
    tcase_add_loop_test(c, floats_agree_with_bytes, 0, n);
    tcase_add_test(c, the_shorter_side_is_set_and_the_ratio_kept);
    tcase_add_test(c, what_has_its_size_or_is_no_image_stays);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
