/* random_photometric_distort_test.c - bytes as torchvision 0.29.2 makes them of Pillow images, and the draws. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"
#include "distort.h"

static test_settings g;

/* Channels; factors and turn, 0 for none; whether contrast is first; order of channels; and the sum of
 * tests/peers/vision.py, with Pillow 13.0.0. */
static const struct {
    int64_t channels;
    double by[CHANGES];
    int first;
    uint8_t channel[3];
    uint64_t want;
} cases[] = {
    {3, {0.875, 0, 0, 0}, 1, {0, 1, 2}, 0x2525ca0258532fc7u},
    {3, {0, 1.5, 0, 0}, 1, {0, 1, 2}, 0xd36560b1f1b4f041u},
    {3, {0, 0, 0.5, 0}, 0, {0, 1, 2}, 0x5b8339f5b7f9fd10u},
    {3, {0, 0, 0, -0.05}, 0, {0, 1, 2}, 0xc2fcc02850f1ffc6u},
    {3, {0, 0, 0, 0.03}, 1, {0, 1, 2}, 0xbc76a12691ac8cbbu},
    {3, {0, 0, 0, 0}, 1, {2, 0, 1}, 0xaffde7411a4d8793u},
    {3, {1.125, 0.6, 1.4, -0.02}, 1, {1, 0, 2}, 0x812abd6db2f42cc5u},
    {3, {1.125, 0.6, 1.4, -0.02}, 0, {1, 2, 0}, 0xeb15219cd9a1a355u},
    {1, {0.9, 1.3, 0.7, 0.04}, 0, {0}, 0xf533a440df960ba3u},
};

START_TEST(bytes_are_those_of_torchvision)
{
    static uint8_t y[PICTURE_BYTES];
    const picture x = {y, PICTURE_H, PICTURE_W, cases[_i].channels};
    distortion d = {.contrast_first = cases[_i].first};
    for (int k = 0; k < CHANGES; k++) {
        d.by[k] = cases[_i].by[k];
        d.makes[k] = d.by[k] < 0.0 || d.by[k] > 0.0;
    }
    memcpy(d.channel, cases[_i].channel, 3);
    bench_picture(y, x.h, x.w, x.c);
    distortion_make(&x, &d);
    ck_assert_uint_eq(bench_sum(y, (size_t)(x.h * x.w * x.c)), cases[_i].want);
}
END_TEST

/* Ranges of one factor each, so that what can come is counted: 16 sets of changes, 8 of them with contrast in two places,
 * and six orders of channels, of which one is none. */
static void settings(double p)
{
    static const double factors[CHANGES] = {0.9, 1.4, 0.6, 0.04};
    static const char *const names[CHANGES] = {"brightness", "contrast", "saturation", "hue"};
    test_settings_init(&g);
    for (int k = 0; k < CHANGES; k++)
        test_settings_floats(&g, names[k], &factors[k], 1);
    test_settings_float(&g, "p", p);
}

static distortion nth(int k)
{
    static const uint8_t order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    distortion d = {.by = {0.9, 1.4, 0.6, 0.04}, .contrast_first = k / 16 % 2};
    for (int c = 0; c < CHANGES; c++)
        d.makes[c] = k >> c & 1;
    memcpy(d.channel, order[k / 32], 3);
    return d;
}

/* Each change is made of a fourth of the pictures, whichever others are; contrast comes first as often as not. */
START_TEST(each_change_has_its_probability)
{
    enum { DRAWS = 1600, WAYS = 6 * 32 };
    static uint64_t sums[WAYS];
    static uint8_t y[PICTURE_BYTES];
    int made[CHANGES] = {0}, orders[6] = {0}, first = 0, both = 0;
    for (int k = 0; k < WAYS; k++) {
        const distortion d = nth(k);
        const picture x = {y, PICTURE_H, PICTURE_W, 3};
        bench_picture(y, PICTURE_H, PICTURE_W, 3);
        distortion_make(&x, &d);
        sums[k] = bench_sum(y, sizeof y);
    }
    settings(0.25);
    for (uint64_t i = 0; i < DRAWS; i++) {
        int k = 0;
        ck_assert_int_eq(picture_changed("random_photometric_distort", &g, NULL, 3, i, y), 1);
        const uint64_t sum = bench_sum(y, sizeof y);
        while (k < WAYS && sums[k] != sum)
            k++;
        ck_assert_int_lt(k, WAYS);
        const distortion d = nth(k);
        for (int c = 0; c < CHANGES; c++)
            made[c] += d.makes[c];
        orders[k / 32]++;
        if (d.makes[CONTRAST] && d.makes[SATURATION]) { /* where the order shows */
            both++;
            first += d.contrast_first;
        }
    }
    for (int c = 0; c < CHANGES; c++) /* five standard deviations */
        ck_assert_close(made[c], DRAWS * 0.25, 5.0 * sqrt(DRAWS * 0.25 * 0.75));
    for (int k = 1; k < 6; k++) /* a sixth of a fourth */
        ck_assert_close(orders[k], DRAWS / 24.0, 5.0 * sqrt(DRAWS / 24.0));
    ck_assert_close(first, both / 2.0, 5.0 * sqrt(both / 4.0));
}
END_TEST

START_TEST(factors_lie_in_their_range_and_draws_are_keyed)
{
    static const double range[2] = {0.5, 1.5}, one = 1.0, none = 0.0;
    static uint8_t x[PICTURE_BYTES], y[PICTURE_BYTES];
    double least = 9.0, most = 0.0, sum = 0.0;
    test_settings_init(&g);
    test_settings_floats(&g, "brightness", range, 2);
    test_settings_floats(&g, "contrast", &one, 1);
    test_settings_floats(&g, "saturation", &one, 1);
    test_settings_floats(&g, "hue", &none, 1);
    test_settings_float(&g, "p", 1.0);
    memset(x, 100, sizeof x);
    for (uint64_t k = 0; k < 1000; k++) {
        ck_assert_int_eq(picture_changed("random_photometric_distort", &g, x, 1, k, y), 1);
        least = fmin(least, y[0] / 100.0);
        most = fmax(most, y[0] / 100.0);
        sum += y[0] / 100.0;
    }
    ck_assert_close(least, 0.5, 0.02);
    ck_assert_close(most, 1.5, 0.02);
    ck_assert_close(sum / 1000, 1.0, 5.0 / sqrt(12.0 * 1000.0) + 0.01); /* bytes are cut off */
    settings(0.5);
    picture_draws("random_photometric_distort", &g, 0);
}
END_TEST

START_TEST(ranges_that_fall_are_refused)
{
    static const double fall[2] = {1.5, 0.5};
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    settings(0.5);
    test_settings_floats(&g, "saturation", fall, 2);
    ck_assert_int_eq(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_TRANSFORM,
                                  "random_photometric_distort", &g, NULL, &err),
                     TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "saturation is [1.5, 0.5], want the smaller one first");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_photometric_distort");
    TCase *c = tcase_create("random_photometric_distort");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, each_change_has_its_probability);
    tcase_add_test(c, factors_lie_in_their_range_and_draws_are_keyed);
    tcase_add_test(c, ranges_that_fall_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
