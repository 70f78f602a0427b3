/* color_jitter_test.c - every change against Pillow's bytes; ranges and keys of the draws. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/colour.h"
#include "../transform_check.h"

enum { H = 40, W = 50 };

static bench b;
static given g;
static uint8_t x[32768], y[32768];

typedef void (*change)(uint8_t *x, int64_t n, int64_t channels, float factor);
static const change changes[] = {colour_brightness, colour_contrast, colour_saturation};

typedef struct case_ {
    int change;
    int64_t channels;
    float factor;
    uint64_t want; /* sum of what Pillow 9.4's ImageEnhance makes */
} case_;

static const case_ cases[] = {
    {0, 3, 0.0f, 0xc1c13e6a997124c3u},  {0, 3, 0.3f, 0xdc8f7a989911ed9eu},
    {0, 3, 0.75f, 0x74de292e71f59116u}, {0, 3, 1.0f, 0x2b9ab33a800a90a5u},
    {0, 3, 1.7f, 0x3a46e3f328c6c6d6u},  {0, 3, 2.5f, 0x68a11fef6071b572u},
    {1, 3, 0.0f, 0x1859f63b7bf58053u},  {1, 3, 0.3f, 0x1037828247ce7e07u},
    {1, 3, 0.75f, 0x929cd1ef265968c7u}, {1, 3, 1.0f, 0x2b9ab33a800a90a5u},
    {1, 3, 1.7f, 0x776be7bf0a3c4aa9u},  {1, 3, 2.5f, 0xa7449dd276057fc8u},
    {2, 3, 0.0f, 0xd72804f4b777d53du},  {2, 3, 0.3f, 0x2816d13a5c0ecc73u},
    {2, 3, 0.75f, 0xd92c5b3e6a8af304u}, {2, 3, 1.0f, 0x2b9ab33a800a90a5u},
    {2, 3, 1.7f, 0xdee533f4ba70ed2eu},  {2, 3, 2.5f, 0x39bfabfe82faf2a4u},
    {0, 1, 0.0f, 0x7fd577edd7920943u},  {0, 1, 0.3f, 0xcdf70e2479149c83u},
    {0, 1, 0.75f, 0x7b9dbe5940a9c4cbu}, {0, 1, 1.0f, 0xd561c9d92ea3ef31u},
    {0, 1, 1.7f, 0xd6afa86d46f0d4d6u},  {0, 1, 2.5f, 0x427c691d473886ebu},
    {1, 1, 0.0f, 0x1d35c21e6e897e43u},  {1, 1, 0.3f, 0x60a4d81deafa4718u},
    {1, 1, 0.75f, 0x683b47f101e28ccbu}, {1, 1, 1.0f, 0xd561c9d92ea3ef31u},
    {1, 1, 1.7f, 0x31937d6ae9daaf6au},  {1, 1, 2.5f, 0x74feebe5199365f5u},
    {2, 1, 0.0f, 0xd561c9d92ea3ef31u},  {2, 1, 0.3f, 0xd561c9d92ea3ef31u},
    {2, 1, 0.75f, 0xd561c9d92ea3ef31u}, {2, 1, 1.0f, 0xd561c9d92ea3ef31u},
    {2, 1, 1.7f, 0xd561c9d92ea3ef31u},  {2, 1, 2.5f, 0xd561c9d92ea3ef31u},
};

START_TEST(bytes_are_those_of_pillow)
{
    const case_ *c = &cases[_i];
    bench_picture(x, H, W, c->channels);
    changes[c->change](x, H * W, c->channels, c->factor);
    ck_assert_uint_eq(bench_sum(x, (size_t)(H * W * c->channels)), c->want);
}
END_TEST

static const struct {
    uint8_t turn;
    uint64_t want; /* through Pillow's HSV and back */
} turns[] = {
    {0, 0x41188298f7396bc6u},   {1, 0x7bec7b016990edceu},   {25, 0x03561af37e56aa22u},
    {128, 0x3a13a6175cd64526u}, {230, 0xbb1802378abef260u}, {255, 0x303f09d7b162cfa1u},
};

START_TEST(hues_are_those_of_pillow)
{
    static uint8_t all[52 * 52 * 52 * 3]; /* colours five apart */
    uint8_t *at = all;
    for (int r = 0; r < 256; r += 5)
        for (int k = 0; k < 256; k += 5)
            for (int c = 0; c < 256; c += 5) {
                *at++ = (uint8_t)r;
                *at++ = (uint8_t)k;
                *at++ = (uint8_t)c;
            }
    colour_hue(all, 52 * 52 * 52, 3, turns[_i].turn);
    ck_assert_uint_eq(bench_sum(all, sizeof all), turns[_i].want);
}
END_TEST

static void open_with(double brightness, double contrast, double saturation, double hue)
{
    given_init(&g);
    given_float(&g, "brightness", brightness);
    given_float(&g, "contrast", contrast);
    given_float(&g, "saturation", saturation);
    given_float(&g, "hue", hue);
    bench_open(&b, "color_jitter", &g);
}

START_TEST(factors_lie_in_their_range)
{
    static const double ranges[] = {0.2, 3.0};
    const tutti_desc image = {{1, 2, 1}, 3, TUTTI_U8};
    const double high = 1.0 + ranges[_i], low = ranges[_i] > 1.0 ? 0.0 : 1.0 - ranges[_i];
    double least = 9.0, most = 0.0, sum = 0.0;
    tutti_desc made;
    x[0] = x[1] = 60;
    open_with(ranges[_i], 0, 0, 0);
    for (uint64_t k = 0; k < 2000; k++) {
        ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, k, &made), 1);
        const double factor = y[0] / 60.0;
        least = fmin(least, factor);
        most = fmax(most, factor);
        sum += factor;
    }
    subject_close(&b.subject);
    ck_assert_close(least, low, 0.03);
    ck_assert_close(most, high, 0.03);
    ck_assert_close(sum / 2000, (low + high) / 2, 0.1);
}
END_TEST

START_TEST(draws_are_keyed_and_changes_come_in_every_order)
{
    const tutti_desc image = {{4, 4, 3}, 3, TUTTI_U8};
    uint8_t again[48];
    int differ = 0;
    tutti_desc made;
    bench_picture(x, 4, 4, 3);
    open_with(0.4, 0.4, 0.4, 0.1);
    for (uint64_t k = 0; k < 50; k++) {
        ck_assert_int_eq(bench_apply(&b, &image, x, y, 1, k, &made), 1);
        ck_assert(tutti_same_shape(&made, &image));
        (void)bench_apply(&b, &image, x, again, 1, k, &made);
        ck_assert_mem_eq(y, again, sizeof again);
        (void)bench_apply(&b, &image, x, again, 2, k, &made);
        differ += memcmp(y, again, sizeof again) != 0;
    }
    ck_assert_int_gt(differ, 45);
    subject_close(&b.subject);
}
END_TEST

START_TEST(nothing_changes_where_all_is_off)
{
    const tutti_desc image = {{4, 4, 3}, 3, TUTTI_U8}, label = {{0}, 0, TUTTI_I32};
    tutti_desc made, two = {{4, 4, 2}, 3, TUTTI_U8};
    bench_picture(x, 4, 4, 3);
    open_with(0, 0, 0, 0);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 1, 1, &made), 1);
    ck_assert_mem_eq(x, y, 48);
    ck_assert_int_eq(bench_apply(&b, &label, x, y, 1, 1, &made), 0);
    ck_assert_int_eq(bench_infer(&b, &two), TUTTI_E_SHAPE);
    ck_assert_error(b.err, TUTTI_E_SHAPE,
                    "color_jitter: column input has 2 channels, want 1 or 3");
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("color_jitter");
    TCase *c = tcase_create("color_jitter");
    tcase_add_loop_test(c, bytes_are_those_of_pillow, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_loop_test(c, hues_are_those_of_pillow, 0, (int)(sizeof turns / sizeof *turns));
    tcase_add_loop_test(c, factors_lie_in_their_range, 0, 2);
    tcase_add_test(c, draws_are_keyed_and_changes_come_in_every_order);
    tcase_add_test(c, nothing_changes_where_all_is_off);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
