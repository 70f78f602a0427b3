/* pad_test.c - margins as torchvision 0.29.2 makes them of Pillow images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_check.h"

enum { H = 12, W = 10 };

static bench b;
static test_settings g;

static void open_with(const int64_t *margin, uint32_t n, int64_t mode, double fill)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "symmetric"};
    test_settings_init(&g);
    test_settings_ints(&g, "padding", margin, n);
    test_settings_enum(&g, "padding_mode", modes[mode], mode);
    test_settings_float(&g, "fill", fill);
    bench_open(&b, "pad", &g);
}

/* Margins, mode, fill, and the bytes' sum: tests/peers/vision.py, with Pillow 13.0.0. */
static const struct {
    int64_t margin[4];
    uint32_t count;
    int64_t mode;
    double fill;
    uint64_t want;
} cases[] = {
    {{3}, 1, 0, 77, 0x9676d8538695057au},         {{2, 5}, 2, 0, 77, 0x2f02036f92262d48u},
    {{1, 0, 4, 7}, 4, 0, 77, 0xd295f61a890691fu}, {{3}, 1, 1, 0, 0xdebdb246046c9c31u},
    {{2, 5}, 2, 1, 0, 0xef8ced8657566c44u},       {{1, 0, 4, 7}, 4, 1, 0, 0x243d90459f95ae7fu},
    {{3}, 1, 2, 0, 0x38cab559c79a98d3u},          {{2, 5}, 2, 2, 0, 0xd2f136c72eeaddc0u},
    {{1, 0, 4, 7}, 4, 2, 0, 0x3ffff6f3c93a6332u}, {{3}, 1, 3, 0, 0x810f87afe511e9edu},
    {{2, 5}, 2, 3, 0, 0x8486ed03237f77e5u},       {{1, 0, 4, 7}, 4, 3, 0, 0x82ec4236ee629dfbu},
};

START_TEST(bytes_are_those_of_torchvision)
{
    const tutti_desc d = {{H, W, 3}, 3, TUTTI_U8};
    uint8_t x[H * W * 3], y[4096];
    tutti_desc made, want = d;
    bench_picture(x, H, W, 3);
    open_with(cases[_i].margin, cases[_i].count, cases[_i].mode, cases[_i].fill);
    ck_assert_ok(bench_infer(&b, &want), b.err);
    ck_assert_int_eq(bench_apply(&b, &d, x, y, 0, 0, &made), 1);
    ck_assert(tutti_same_shape(&made, &want));
    ck_assert_uint_eq(bench_sum(y, tutti_nbytes(&made)), cases[_i].want);
    subject_close(&b.subject);
}
END_TEST

START_TEST(floats_and_what_is_refused)
{
    static const int64_t one[] = {1}, three[] = {1, 2, 3}, many[] = {10};
    const tutti_desc d = {{1, 2, 1}, 3, TUTTI_F32}, label = {{0}, 0, TUTTI_I32};
    static const float x[] = {3, 4};
    static const float want[] = {.5f, .5f, .5f, .5f, .5f, 3, 4, .5f, .5f, .5f, .5f, .5f};
    float y[12];
    tutti_desc made, small = {{H, W, 3}, 3, TUTTI_U8};
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    open_with(one, 1, 0, 0.5);
    ck_assert_int_eq(bench_apply(&b, &d, x, y, 0, 0, &made), 1);
    ck_assert_mem_eq(y, want, sizeof want);
    ck_assert_int_eq(bench_apply(&b, &label, x, y, 0, 0, &made), 0);
    bench_refuses_maps(&b, "pad");
    subject_close(&b.subject);
    open_with(many, 1, 2, 0.0);
    ck_assert_int_eq(bench_infer(&b, &small), TUTTI_E_SHAPE);
    ck_assert_error(
        b.err, TUTTI_E_SHAPE,
        "pad: an image of 10 pixels cannot be mirrored into this margin, which wants "
        "11");
    subject_close(&b.subject);
    test_settings_init(&g);
    test_settings_ints(&g, "padding", three, 3);
    ck_assert_int_eq(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_TRANSFORM, "pad", &g, NULL, &err),
                     TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "pad: padding has 3 numbers, want 1, 2 or 4");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pad");
    TCase *c = tcase_create("pad");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, floats_and_what_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
