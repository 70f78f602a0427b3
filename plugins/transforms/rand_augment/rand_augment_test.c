/* rand_augment_test.c - every operation against Pillow's bytes; draws, sets and strengths. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/augment.h"
#include "../transform_check.h"

enum { H = 40, W = 50 };
enum {
    AUTOCONTRAST,
    EQUALIZE,
    POSTERIZE,
    ROTATE,
    SOLARIZE,
    SHEAR_X,
    SHEAR_Y,
    TRANSLATE_X,
    TRANSLATE_Y,
    SHARPNESS
};

static bench b;
static given g;
static uint8_t x[H * W * 3], y[H * W * 3], again[H * W * 3];

static const struct {
    int operation;
    int64_t channels;
    double value;
    uint64_t want; /* sum of what Pillow 9.4 makes */
} cases[] = {
    {0, 3, 0, 0x6b0908d5b17a8465u},    {1, 3, 0, 0x032bc2a561114b7fu},
    {2, 3, 1, 0x6ac69024554247c3u},    {2, 3, 3, 0x5136b58a65633ae3u},
    {2, 3, 4, 0x5cbb82d998b0c533u},    {3, 3, 0, 0x2b9ab33a800a90a5u},
    {3, 3, 7, 0xed15c61bc2f10715u},    {3, 3, -7, 0x00290bf7ec3ade41u},
    {3, 3, 30, 0x190c7d85e7b494c1u},   {4, 3, 0, 0x6ccc4630bba6bba5u},
    {4, 3, 100, 0xf129f2fb5cb08045u},  {4, 3, 256, 0x2b9ab33a800a90a5u},
    {5, 3, 0.27, 0x2d75f9d361a28dbdu}, {5, 3, -0.1, 0xb7ae4433d8a88472u},
    {6, 3, 0.27, 0x9578d23c50d98fafu}, {6, 3, -0.1, 0x8b86882af916b509u},
    {7, 3, 5, 0x850a33b8e18c2c2fu},    {7, 3, -3, 0x3cde465a873a60d8u},
    {8, 3, 5, 0x6475a3bdf08cc777u},    {8, 3, -3, 0xf47120d139dd1e06u},
    {9, 3, 0, 0xec4cfd0cab481088u},    {9, 3, 0.37, 0xae629ff73fde7a70u},
    {9, 3, 1, 0x2b9ab33a800a90a5u},    {9, 3, 4.2, 0x949ad2ae7338d208u},
    {0, 1, 0, 0x85004e1f976d230bu},    {1, 1, 0, 0x346084d226c85026u},
    {2, 1, 1, 0x207b28339a88cfc3u},    {2, 1, 3, 0xc9f9f25350f6ff03u},
    {2, 1, 4, 0x3225aa832d31f943u},    {3, 1, 0, 0xd561c9d92ea3ef31u},
    {3, 1, 7, 0xf76ca3424a50045bu},    {3, 1, -7, 0xbbcc8f24824208f9u},
    {3, 1, 30, 0x9f87ba7765cefa27u},   {4, 1, 0, 0xf584e2a88a454a1du},
    {4, 1, 100, 0x51490249cb75ea86u},  {4, 1, 256, 0xd561c9d92ea3ef31u},
    {5, 1, 0.27, 0x35cf17cfcb9ca1f3u}, {5, 1, -0.1, 0x8ab140cb84d4cceeu},
    {6, 1, 0.27, 0xf6ada6e0df8c1858u}, {6, 1, -0.1, 0x1bd777da7dacd482u},
    {7, 1, 5, 0x102d9ffac04686ebu},    {7, 1, -3, 0x4b69644bb29eb5fcu},
    {8, 1, 5, 0x313a8701fb3b3481u},    {8, 1, -3, 0x37c5b990aa7c0624u},
    {9, 1, 0, 0x602137157140a4a7u},    {9, 1, 0.37, 0x2d1bb5afe64873cau},
    {9, 1, 1, 0xd561c9d92ea3ef31u},    {9, 1, 4.2, 0x9935dc0ce707d337u},
};

START_TEST(bytes_are_those_of_pillow)
{
    const double v = cases[_i].value;
    const canvas c = {x, y, H, W, cases[_i].channels};
    const size_t size = (size_t)(H * W * c.channels);
    double m[6] = {1, 0, 0, 0, 1, 0};
    static const int places[] = {1, 3, 2, 5}; /* of shears and translations in m */
    bench_picture(x, H, W, c.channels);
    switch (cases[_i].operation) {
    case AUTOCONTRAST:
        for (size_t k = 0; k < size; k++)
            x[k] = (uint8_t)(30 + x[k] / 2);
        augment_autocontrast(&c);
        break;
    case EQUALIZE:
        augment_equalize(&c);
        break;
    case POSTERIZE:
        augment_posterize(&c, (int)v);
        break;
    case ROTATE:
        augment_rotate(&c, v);
        break;
    case SOLARIZE:
        augment_solarize(&c, (int)v);
        break;
    case SHARPNESS:
        augment_sharpness(&c, (float)v);
        break;
    default:
        m[places[cases[_i].operation - SHEAR_X]] = v;
        augment_affine(&c, m);
    }
    ck_assert_uint_eq(bench_sum(x, size), cases[_i].want);
}
END_TEST

START_TEST(flat_images_stay)
{
    const canvas c = {x, y, 3, 4, 3};
    memset(x, 77, 36);
    memset(again, 77, 36);
    augment_autocontrast(&c);
    augment_equalize(&c);
    augment_sharpness(&c, 3.0f);
    ck_assert_mem_eq(x, again, 36);
    augment_posterize(&c, 8);
    ck_assert_mem_eq(x, again, 36);
    augment_posterize(&c, 0);
    ck_assert_int_eq(x[0], 0);
}
END_TEST

static void open_with(int64_t severity, int64_t depth, int64_t set)
{
    static const char *const sets[] = {"all", "safe", "original"};
    given_init(&g);
    given_int(&g, "severity", severity);
    given_int(&g, "depth", depth);
    given_enum(&g, "augmentation_set", sets[set], set);
    bench_open(&b, "rand_augment", &g);
}

START_TEST(draws_are_keyed_by_epoch_and_sample)
{
    const tutti_desc image = {{H, W, 3}, 3, TUTTI_U8};
    tutti_desc made;
    int differ = 0;
    bench_picture(x, H, W, 3);
    open_with(10, 2, _i);
    for (uint64_t k = 0; k < 100; k++) {
        ck_assert_int_eq(bench_apply(&b, &image, x, y, 1, k, &made), 1);
        ck_assert(tutti_same_shape(&made, &image));
        (void)bench_apply(&b, &image, x, again, 1, k, &made);
        ck_assert_mem_eq(y, again, sizeof y);
        (void)bench_apply(&b, &image, x, again, 2, k, &made);
        differ += memcmp(y, again, sizeof y) != 0;
    }
    ck_assert_int_gt(differ, 80);
    subject_close(&b.subject);
}
END_TEST

/* How many different results one operation has on 600 samples, and how many are the image itself. */
static int results(int64_t severity, int64_t set, int *ret_same)
{
    const tutti_desc image = {{H, W, 3}, 3, TUTTI_U8};
    static uint64_t seen[600];
    tutti_desc made;
    int different = 0;
    *ret_same = 0;
    bench_picture(x, H, W, 3);
    open_with(severity, 1, set);
    for (uint64_t k = 0; k < 600; k++) {
        ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, k, &made), 1);
        const uint64_t sum = bench_sum(y, sizeof y);
        int old = 0;
        for (int i = 0; i < different && !old; i++)
            old = seen[i] == sum;
        if (!old)
            seen[different++] = sum;
        *ret_same += sum == bench_sum(x, sizeof x);
    }
    subject_close(&b.subject);
    return different;
}

START_TEST(colours_come_in_any_strength_unless_the_set_is_safe)
{
    int same;
    /* rotations, solarisations and translations are whole numbers, shears are not: 2 of 9 or 13 */
    ck_assert_close(results(10, 1, &same), 260, 60);
    ck_assert_close(results(10, 0, &same), 400, 60); /* and four more that are not */
    ck_assert_close(results(10, 2, &same), 400, 60);
}
END_TEST

START_TEST(a_severity_of_zero_hardly_changes_anything)
{
    int same;
    (void)results(0, 1, &same);
    /* rotations, translations and solarisations by 0; the picture uses all values, so that
     * autocontrast leaves it too */
    ck_assert_close(same, 600 * 5 / 9.0, 60);
}
END_TEST

START_TEST(what_is_no_picture_stays_or_is_refused)
{
    const tutti_desc label = {{0}, 0, TUTTI_I32}, image = {{4, 4, 3}, 3, TUTTI_U8};
    tutti_desc made, two = {{4, 4, 2}, 3, TUTTI_U8};
    open_with(9, 2, 0);
    ck_assert_int_eq(bench_apply(&b, &label, x, y, 0, 0, &made), 0);
    ck_assert_int_eq(bench_infer(&b, &two), TUTTI_E_SHAPE);
    ck_assert_error(b.err, TUTTI_E_SHAPE,
                    "rand_augment: column input has 2 channels, want 1 or 3");
    subject_close(&b.subject);
    open_with(9, 0, 0);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 0);
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rand_augment");
    TCase *c = tcase_create("rand_augment");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, bytes_are_those_of_pillow, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, flat_images_stay);
    tcase_add_loop_test(c, draws_are_keyed_by_epoch_and_sample, 0, 3);
    tcase_add_test(c, colours_come_in_any_strength_unless_the_set_is_safe);
    tcase_add_test(c, a_severity_of_zero_hardly_changes_anything);
    tcase_add_test(c, what_is_no_picture_stays_or_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
