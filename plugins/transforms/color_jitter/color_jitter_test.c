/* color_jitter_test.c - every change against Pillow's bytes; ranges and keys of the draws. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/colour.h"
#include "../transform_check.h"

enum { H = 40, W = 50 };

static bench b;
static test_settings g;
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
    {0, 3, 0.0f, 0xf411f1482a08c7e5u},  {0, 3, 0.3f, 0x1682e6ab74aeb8c8u},
    {0, 3, 0.75f, 0x7d43b8e0dd910c34u}, {0, 3, 1.0f, 0x0cc7cdc31986d363u},
    {0, 3, 1.7f, 0xf9770f9615cb2648u},  {0, 3, 2.5f, 0xc576fd484305f6a4u},
    {1, 3, 0.0f, 0x311bbbdf9c366975u},  {1, 3, 0.3f, 0xb0777f85e1e5d005u},
    {1, 3, 0.75f, 0x51c9aea1f6e9b12du}, {1, 3, 1.0f, 0x0cc7cdc31986d363u},
    {1, 3, 1.7f, 0xb9c988a2c49577a7u},  {1, 3, 2.5f, 0x2ef1170d85b073a2u},
    {2, 3, 0.0f, 0x31069c9f1818e7ffu},  {2, 3, 0.3f, 0x9665ab09e65be501u},
    {2, 3, 0.75f, 0xb1f8c57529f4bdfeu}, {2, 3, 1.0f, 0x0cc7cdc31986d363u},
    {2, 3, 1.7f, 0xc92badf72a0d7d34u},  {2, 3, 2.5f, 0x1e5bb863c4be3dcau},
    {0, 1, 0.0f, 0x79b4da79586cdf65u},  {0, 1, 0.3f, 0x04daccca0317cfa5u},
    {0, 1, 0.75f, 0xde7a691a9ead9a85u}, {0, 1, 1.0f, 0x4ff380a217bf9917u},
    {0, 1, 1.7f, 0xc98cf2b1dfa7a3e4u},  {0, 1, 2.5f, 0x1bed4e0c4e6e6999u},
    {1, 1, 0.0f, 0x417f30bb6efcbb65u},  {1, 1, 0.3f, 0x799ecadf9bf6b766u},
    {1, 1, 0.75f, 0x4cc3c8822e4eedc5u}, {1, 1, 1.0f, 0x4ff380a217bf9917u},
    {1, 1, 1.7f, 0xcc39feb5d632d7d8u},  {1, 1, 2.5f, 0x194a7d89d9383c9fu},
    {2, 1, 0.0f, 0x4ff380a217bf9917u},  {2, 1, 0.3f, 0x4ff380a217bf9917u},
    {2, 1, 0.75f, 0x4ff380a217bf9917u}, {2, 1, 1.0f, 0x4ff380a217bf9917u},
    {2, 1, 1.7f, 0x4ff380a217bf9917u},  {2, 1, 2.5f, 0x4ff380a217bf9917u},
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
    {0, 0x96f61264f7374530u},   {1, 0xc814a9af9d036f58u},   {25, 0xc586f27fa72ee4bcu},
    {128, 0x997cc95c9a128ea8u}, {230, 0x3d7079e8a21f3e8eu}, {255, 0xfd004709ebfdb92fu},
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

static void open_p(double brightness, double contrast, double saturation, double hue, double p)
{
    test_settings_init(&g);
    test_settings_float(&g, "brightness", brightness);
    test_settings_float(&g, "contrast", contrast);
    test_settings_float(&g, "saturation", saturation);
    test_settings_float(&g, "hue", hue);
    test_settings_float(&g, "p", p);
    bench_open(&b, "color_jitter", &g);
}

static void open_with(double brightness, double contrast, double saturation, double hue)
{
    open_p(brightness, contrast, saturation, hue, 1.0);
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

/* Of a sample that is changed p moves no draw: it has the bytes of p = 1, which are those of before there was a p. */
START_TEST(a_share_of_the_samples_is_changed)
{
    enum { DRAWS = 2000 };
    const tutti_desc image = {{4, 4, 3}, 3, TUTTI_U8};
    uint8_t all[48];
    uint64_t sum = 0;
    int changed = 0;
    tutti_desc made;
    bench whole;
    bench_picture(x, 4, 4, 3);
    open_with(0.4, 0.4, 0.4, 0.1);
    whole = b;
    open_p(0.4, 0.4, 0.4, 0.1, 0.3);
    for (uint64_t k = 0; k < DRAWS; k++) {
        ck_assert_int_eq(bench_apply(&whole, &image, x, all, 2, k, &made), 1);
        sum = sum * 31 + bench_sum(all, sizeof all);
        if (!bench_apply(&b, &image, x, y, 2, k, &made))
            continue;
        ck_assert_mem_eq(y, all, sizeof all);
        changed++;
    }
    subject_close(&b.subject);
    subject_close(&whole.subject);
    ck_assert_uint_eq(sum, 14081185983753723836u); /* recorded of a build without p */
    ck_assert_close(changed, 0.3 * DRAWS, 5.0 * sqrt(DRAWS * 0.3 * 0.7));
    open_p(0.4, 0.4, 0.4, 0.1, 0.0);
    for (uint64_t k = 0; k < 100; k++)
        ck_assert_int_eq(bench_apply(&b, &image, x, y, 2, k, &made), 0);
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
    tcase_add_test(c, a_share_of_the_samples_is_changed);
    tcase_add_test(c, nothing_changes_where_all_is_off);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
