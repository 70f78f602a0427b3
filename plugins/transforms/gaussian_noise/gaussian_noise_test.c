/* gaussian_noise_test.c - values as torchvision 0.29.2 makes them of given normal numbers, and their distribution. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_check.h"
#include "noise.h"

enum { H = 40, W = 50, N = H * W * 3 };

static test_settings g;
static bench b;
static uint8_t x[N], y[N];
static float fx[N], fy[N];

/* Whether of f32, mean, sigma, clip, and the sum of tests/peers/vision.py: torchvision 0.29.2, torch 2.15.0. */
static const struct {
    int f32;
    double mean, sigma;
    int32_t clip;
    uint64_t want;
} cases[] = {
    {0, 0.0, 0.1, 1, 0xa73a70f85dfc0a49u},  {0, 0.25, 0.3, 1, 0xbc75d00e66ab7352u},
    {0, -0.1, 0.2, 0, 0xf742be40cdd92878u}, {1, 0.0, 0.1, 1, 0x169afb760d36e745u},
    {1, 0.25, 0.3, 1, 0x48a8bae331d5b502u}, {1, -0.1, 0.2, 0, 0x33d6f16bf838e377u},
};

START_TEST(values_are_those_of_torchvision)
{
    const noise n = {cases[_i].mean, cases[_i].sigma, cases[_i].clip, 0};
    bench_picture(x, H, W, 3);
    for (int i = 0; i < N; i++) {
        const float normal = (float)((i * 37 % 101 - 50) / 20.0);
        y[i] = noise_byte(&n, x[i], normal);
        fy[i] = noise_f32(&n, (float)x[i] / 256.0f, normal);
    }
    const uint64_t got =
        cases[_i].f32 ? bench_sum((const uint8_t *)fy, sizeof fy) : bench_sum(y, sizeof y);
    ck_assert_uint_eq(got, cases[_i].want);
}
END_TEST

static void settings_p(double mean, double sigma, int clip, double p)
{
    test_settings_init(&g);
    test_settings_float(&g, "mean", mean);
    test_settings_float(&g, "sigma", sigma);
    test_settings_bool(&g, "clip", clip);
    test_settings_float(&g, "p", p);
    bench_open(&b, "gaussian_noise", &g);
}

static void settings(double mean, double sigma, int clip)
{
    settings_p(mean, sigma, clip, 1.0);
}

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
    settings(0.0, 0.1, 1);
    whole = b;
    settings_p(0.0, 0.1, 1, 0.3);
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
    ck_assert_uint_eq(sum, 13751178374040131292u); /* recorded of a build without p */
    ck_assert_close(changed, 0.3 * DRAWS, 5.0 * sqrt(DRAWS * 0.3 * 0.7));
    settings_p(0.0, 0.1, 1, 0.0);
    for (uint64_t k = 0; k < 100; k++)
        ck_assert_int_eq(bench_apply(&b, &image, x, y, 2, k, &made), 0);
    subject_close(&b.subject);
}
END_TEST

/* Mean, deviation, and how many lie within one and two of these, of 100 samples of 6000 values. */
START_TEST(noise_is_normal)
{
    const tutti_desc d = {{H, W, 3}, 3, TUTTI_F32};
    const double mean = 0.3, sigma = 0.2, count = 100.0 * N;
    double sum = 0.0, squares = 0.0, one = 0.0, two = 0.0, neighbours = 0.0;
    tutti_desc made;
    settings(mean, sigma, 0);
    memset(fx, 0, sizeof fx);
    for (uint64_t k = 0; k < 100; k++) {
        ck_assert_int_eq(bench_apply(&b, &d, fx, fy, 1, k, &made), 1);
        ck_assert(tutti_same_shape(&made, &d));
        for (int i = 0; i < N; i++) {
            const double z = ((double)fy[i] - mean) / sigma;
            sum += z;
            squares += z * z;
            one += fabs(z) < 1.0;
            two += fabs(z) < 2.0;
            neighbours += i ? z * ((double)fy[i - 1] - mean) / sigma : 0.0;
        }
    }
    /* five standard deviations of each */
    ck_assert_close(sum / count, 0.0, 5.0 / sqrt(count));
    ck_assert_close(squares / count, 1.0, 5.0 * sqrt(2.0 / count));
    ck_assert_close(one / count, 0.6826895, 5.0 * sqrt(0.6827 * 0.3173 / count));
    ck_assert_close(two / count, 0.9544997, 5.0 * sqrt(0.9545 * 0.0455 / count));
    ck_assert_close(neighbours / count, 0.0, 5.0 / sqrt(count));
    subject_close(&b.subject);
}
END_TEST

START_TEST(draws_are_keyed_and_other_columns_stay)
{
    static uint8_t again[N];
    const tutti_desc d = {{H, W, 3}, 3, TUTTI_U8}, label = {{0}, 0, TUTTI_I32},
                     odd = {{1, 1, 5}, 3, TUTTI_U8};
    tutti_desc made;
    bench_picture(x, H, W, 3);
    settings(0.0, 0.1, 1);
    ck_assert_int_eq(bench_apply(&b, &d, x, y, 1, 7, &made), 1);
    (void)bench_apply(&b, &d, x, again, 1, 7, &made);
    ck_assert_mem_eq(y, again, N);
    (void)bench_apply(&b, &d, x, again, 2, 7, &made);
    ck_assert_int_ne(memcmp(y, again, N), 0);
    (void)bench_apply(&b, &d, x, again, 1, 8, &made);
    ck_assert_int_ne(memcmp(y, again, N), 0);
    ck_assert_int_eq(bench_apply(&b, &label, x, y, 1, 7, &made), 0);
    memset(again, 9, N);
    ck_assert_int_eq(bench_apply(&b, &odd, x, again, 1, 7, &made), 1);
    ck_assert_int_eq(again[5], 9); /* nothing beyond an odd number of values */
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gaussian_noise");
    TCase *c = tcase_create("gaussian_noise");
    tcase_add_loop_test(c, values_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, a_share_of_the_samples_is_changed);
    tcase_add_test(c, noise_is_normal);
    tcase_add_test(c, draws_are_keyed_and_other_columns_stay);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
