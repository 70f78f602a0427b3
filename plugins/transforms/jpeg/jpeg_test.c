/* jpeg_test.c - bytes as torchvision 0.29.2 makes them, and which qualities are drawn. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"

static test_settings g;

/* Channels, quality, and the sum of tests/peers/vision.py: of tensors, and with Pillow 13.0.0 of its images. */
static const struct {
    int64_t channels, quality;
    uint64_t want;
} cases[] = {
    {3, 1, 0x2dd3b651684f00f6u},  {3, 10, 0xe965ca7540f00733u},  {3, 50, 0xd98ffc5f5e60df45u},
    {3, 75, 0x51cdd5bc2c8297c4u}, {3, 95, 0xcb4709238b7814c8u},  {3, 96, 0xa6eabb2b0bcbbd33u},
    {3, 100, 0x35d673742b5f202u}, {1, 1, 0x3c7bbc35c0fa533u},    {1, 10, 0xdf359bb530ab457du},
    {1, 50, 0xb0a28a807438a966u}, {1, 75, 0xe638cdd40edd96e8u},  {1, 95, 0xadf4de93a646dd09u},
    {1, 96, 0x251ea632764bdc2fu}, {1, 100, 0x663ae54f64e05364u},
};

START_TEST(bytes_are_those_of_torchvision)
{
    test_settings_init(&g);
    test_settings_ints(&g, "quality", &cases[_i].quality, 1);
    picture_is("jpeg", &g, cases[_i].channels, cases[_i].want);
}
END_TEST

/* Of [50, 53] each comes as often as another, and nothing else. */
START_TEST(qualities_are_drawn)
{
    enum { DRAWS = 400, MANY = 4 };
    static uint8_t y[PICTURE_BYTES];
    static const int64_t range[2] = {50, 53};
    uint64_t sums[MANY];
    int seen[MANY] = {0};
    for (int64_t k = 0; k < MANY; k++) {
        const int64_t q = range[0] + k;
        test_settings_init(&g);
        test_settings_ints(&g, "quality", &q, 1);
        ck_assert_int_eq(picture_changed("jpeg", &g, NULL, 3, 0, y), 1);
        sums[k] = bench_sum(y, sizeof y);
    }
    test_settings_init(&g);
    test_settings_ints(&g, "quality", range, 2);
    for (uint64_t k = 0; k < DRAWS; k++) {
        int found = 0;
        ck_assert_int_eq(picture_changed("jpeg", &g, NULL, 3, k, y), 1);
        for (int j = 0; j < MANY; j++)
            if (bench_sum(y, sizeof y) == sums[j])
                found = ++seen[j];
        ck_assert_int_gt(found, 0);
    }
    for (int j = 0; j < MANY; j++) /* five standard deviations */
        ck_assert_close(seen[j], DRAWS / 4.0, 5.0 * sqrt(DRAWS * 3.0 / 16.0));
    picture_draws("jpeg", &g, 0);
    picture_probability("jpeg", &g);
}
END_TEST

START_TEST(what_is_no_quality_or_no_jpeg_is_refused)
{
    static const int64_t fall[2] = {60, 40};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_desc wide = {{2, 65501, 3}, 3, TUTTI_U8}, any = {{-1, -1, 3}, 3, TUTTI_U8}, made;
    uint8_t none = 0;
    subject s;
    bench b;
    test_settings_init(&g);
    test_settings_ints(&g, "quality", fall, 2);
    ck_assert_int_eq(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_TRANSFORM, "jpeg", &g, NULL, &err),
        TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "jpeg: quality is [60, 40], want the smaller one first");
    test_settings_ints(&g, "quality", fall, 1);
    bench_open(&b, "jpeg", &g);
    ck_assert_int_eq(bench_infer(&b, &wide), TUTTI_E_SHAPE);
    ck_assert_error(b.err, TUTTI_E_SHAPE,
                    "jpeg: a picture is 2 x 65501, want sides from 1 to 65500 pixels");
    ck_assert_ok(bench_infer(&b, &any), b.err);
    any.dim[0] = any.dim[1] = 0;
    ck_assert_int_eq(bench_apply(&b, &any, &none, &none, 0, 0, &made), TUTTI_E_SHAPE);
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jpeg");
    TCase *c = tcase_create("jpeg");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, qualities_are_drawn);
    tcase_add_test(c, what_is_no_quality_or_no_jpeg_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
