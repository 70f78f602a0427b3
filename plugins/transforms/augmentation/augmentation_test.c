/* augmentation_test.c - what each change computes, and what the transforms make of a picture. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/image_ops.h"
#include "../common/image_pixel.h"
#include "../transform_check.h"

#include "../../common/beta.h"

#include <math.h>

enum { H = 23, W = 29, CAPACITY = H * W * 3 };

static uint8_t x[CAPACITY], y[CAPACITY], scratch[CAPACITY];
static bench b;
static test_settings g;

static void draw_picture(int64_t c)
{
    for (int64_t i = 0; i < H * W * c; i++)
        x[i] = (uint8_t)((i * i * 7 + i * 29 + i / (W * c) * 13) % 231 + 10);
}

/* FNV-1a of n bytes. */
static uint64_t hash(const uint8_t *data, int64_t n)
{
    uint64_t h = 14695981039346656037u;
    for (int64_t i = 0; i < n; i++)
        h = (h ^ data[i]) * 1099511628211u;
    return h;
}

/* Hashes of the results of Pillow 9.4.0 for the picture with 1 and with 3 channels. */
static const struct {
    const char *what;
    uint64_t hash[2];
} pillow[] = {
    {"autocontrast", {0x3f1cd396227231d4u, 0x25d6c3ad0c48b9c2u}},
    {"equalize", {0xe3ceba4300e1d04du, 0x0ff3be44607ae0ffu}},
    {"posterize3", {0xcaf300dfc3b15517u, 0x01160f20f270195fu}},
    {"posterize1", {0xcece42a1463fbed7u, 0x817352da93d6c29fu}},
    {"solarize100", {0x81d0350dfc533f1eu, 0x4f7a0e46ccec0522u}},
    {"sharp0.3", {0x93128bb601aaca38u, 0x2b9e8d9fc93b35eeu}},
    {"sharp2.5", {0x9c0672d379452425u, 0x5f00c1b333d95967u}},
    {"shearx.2", {0x3d27c550e668bafau, 0x5cbb8485ef86ec65u}},
    {"sheary-.1", {0xb3f04f892e358f5fu, 0x8c5c5360bac9d880u}},
    {"transx3", {0xb1b2f7a487887063u, 0x82101e8252959040u}},
    {"transy-2", {0x36ba759b2d30f1f6u, 0xb437b565ee2daa75u}},
    {"rot17", {0x2ebdba42f58a1289u, 0x03f23f8a1ab48a0cu}},
    {"rot-29", {0xcf13a8670ff929a6u, 0x4ddf46525a133a26u}},
};
enum { CASES = sizeof pillow / sizeof *pillow };

static void change(const picture *p, int which)
{
    static const double matrices[4][6] = {
        {1, 0.2, 0, 0, 1, 0}, {1, 0, 0, -0.1, 1, 0}, {1, 0, 3, 0, 1, 0}, {1, 0, 0, 0, 1, -2}};
    switch (which) {
    case 0:
        image_autocontrast(p);
        break;
    case 1:
        image_equalize(p);
        break;
    case 2:
    case 3:
        image_posterize(p, which == 2 ? 3 : 1);
        break;
    case 4:
        image_solarize(p, 100);
        break;
    case 5:
    case 6:
        image_sharpness(p, which == 5 ? 0.3 : 2.5, scratch);
        break;
    case 11:
    case 12:
        image_rotate(p, which == 11 ? 17.0 : -29.0, scratch);
        break;
    default:
        image_affine(p, matrices[which - 7], scratch);
    }
}

START_TEST(a_change_computes_what_pillow_does)
{
    for (int64_t c = 1; c <= 3; c += 2) {
        const picture p = {x, H, W, c};
        draw_picture(c);
        const uint64_t before = hash(x, H * W * c);
        change(&p, _i);
        ck_assert_uint_ne(hash(x, H * W * c), before);
        ck_assert_msg(hash(x, H * W * c) == pillow[_i].hash[c == 3], "%s, %d channels",
                      pillow[_i].what, (int)c);
    }
}
END_TEST

START_TEST(nothing_to_change_changes_nothing)
{
    const picture p = {x, H, W, 3};
    memset(x, 77, sizeof x);
    memset(y, 77, sizeof y);
    image_autocontrast(&p);
    image_equalize(&p);
    image_posterize(&p, 8);
    image_solarize(&p, 256);
    image_sharpness(&p, 3.0, scratch);
    image_rotate(&p, 0.0, scratch);
    ck_assert_mem_eq(x, y, sizeof x);
    image_posterize(&p, 0);
    ck_assert_int_eq(x[5], 0);
}
END_TEST

/* ---- functions of all devices ---- */

START_TEST(steady_functions_are_the_librarys)
{
    for (int k = 1; k < 4000; k++) {
        const double v = k * k * 1e-4, angle = (k - 2000) / 2000.0 * 1.57;
        ck_assert_close(steady_log(v), log(v), 2e-15 * (1.0 + fabs(log(v))));
        ck_assert_close(steady_exp(-v / 3.0), exp(-v / 3.0), 4e-15 * exp(-v / 3.0));
        ck_assert_close(steady_exp(k / 6.0), exp(k / 6.0), 4e-15 * exp(k / 6.0));
        ck_assert_close(steady_sin(angle), sin(angle), 1e-15);
        ck_assert_close(steady_cos(angle), cos(angle), 1e-15);
    }
    ck_assert(steady_exp(-800.0) == 0.0 && steady_log(1.0) == 0.0 && steady_cos(0.0) == 1.0);
}
END_TEST

START_TEST(draws_are_those_of_the_librarys_functions)
{
    static const double shapes[] = {0.3, 1.0, 4.0};
    tutti_stream a = tutti_stream_at(3, 4, 5, 6), b_ = a;
    for (int k = 0; k < 3000; k++)
        ck_assert_close(steady_log_gamma(&a, shapes[_i]), log_gamma_draw(&b_, shapes[_i]),
                        1e-12);
    for (int k = 0; k < 1000; k++)
        ck_assert_close(steady_beta(&a, shapes[_i]), beta_symmetric(&b_, shapes[_i]), 1e-12);
}
END_TEST

/* Pillow rounds sines and cosines to 15 digits. */
START_TEST(a_turn_by_whole_degrees_is_that_of_pillow)
{
    for (int degrees = -30; degrees <= 30; degrees++) {
        double m[6];
        const double angle = -degrees * acos(-1.0) / 180.0;
        pixel_turn(degrees, H, W, m);
        ck_assert(m[0] == rint(cos(angle) * 1e15) / 1e15);
        ck_assert(m[1] == rint(sin(angle) * 1e15) / 1e15);
    }
}
END_TEST

/* ---- the transforms ---- */

static const tutti_desc image = {{H, W, 3}, 3, TUTTI_U8};

static void open_rand(double severity, int64_t depth, int64_t set)
{
    test_settings_init(&g);
    test_settings_float(&g, "severity", severity);
    test_settings_int(&g, "depth", depth);
    test_settings_enum(&g, "augmentation_set", "", set);
    bench_open(&b, "randaugment", &g);
}

START_TEST(randaugment_draws_for_each_epoch_and_sample)
{
    uint8_t again[CAPACITY];
    tutti_desc made;
    int differ = 0;
    draw_picture(3);
    open_rand(9.0, 2, _i);
    for (uint64_t k = 0; k < 200; k++) {
        ck_assert_int_eq(bench_apply(&b, &image, x, y, 1, k, &made), 1);
        ck_assert(tutti_same_shape(&made, &image));
        (void)bench_apply(&b, &image, x, again, 1, k, &made);
        ck_assert_mem_eq(y, again, sizeof y);
        (void)bench_apply(&b, &image, x, again, 2, k, &made);
        differ += memcmp(y, again, sizeof y) != 0;
    }
    ck_assert_int_gt(differ, 190);
    subject_close(&b.subject);
}
END_TEST

START_TEST(no_change_is_the_picture_itself)
{
    tutti_desc made;
    draw_picture(3);
    open_rand(9.0, 0, 0);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 1, 1, &made), 1);
    ck_assert_mem_eq(x, y, sizeof y);
    subject_close(&b.subject);
}
END_TEST

/* At severity 0 and without colours a grey picture of 200 stays, but for posterizing to 192 and what
 * comes in at the edges; evenly mixed in, a half of three chains, it is 196 to 200 in the middle. */
START_TEST(augmix_mixes_chains_into_the_picture)
{
    tutti_desc made;
    int whole = 0, mixed = 0;
    test_settings_init(&g);
    test_settings_float(&g, "severity", 0.0);
    test_settings_int(&g, "depth", -1);
    test_settings_int(&g, "width", 3);
    test_settings_float(&g, "alpha", 1000.0);
    test_settings_enum(&g, "augmentation_set", "safe", 1);
    bench_open(&b, "augmix", &g);
    memset(x, 200, sizeof x);
    for (uint64_t k = 0; k < 100; k++) {
        ck_assert_int_eq(bench_apply(&b, &image, x, y, 1, k, &made), 1);
        const int v = y[(H / 2 * W + W / 2) * 3];
        ck_assert_int_ge(v, 195); /* a share of a half is one of 0.46 to 0.54 */
        ck_assert_int_le(v, 200);
        whole += v >= 199;
        mixed += v < 199;
    }
    ck_assert_int_gt(whole, 20); /* no chain posterizes in (8/9)^6 = 49 of 100 */
    ck_assert_int_gt(mixed, 20);
    subject_close(&b.subject);
}
END_TEST

START_TEST(what_is_no_picture_stays_or_is_refused)
{
    const tutti_desc floats = {{H, W, 3}, 3, TUTTI_F32};
    tutti_desc made, d = image;
    open_rand(9.0, 2, 0);
    ck_assert_int_eq(bench_apply(&b, &floats, x, y, 0, 0, &made), 0);
    d.dim[2] = 2;
    ck_assert_int_eq(bench_infer(&b, &d), TUTTI_E_SHAPE);
    ck_assert_str_eq(b.err.text, "randaugment: column input has 2 channels, want 1 or 3");
    d = floats;
    ck_assert_int_eq(bench_infer(&b, &d), TUTTI_E_ARG);
    ck_assert_str_eq(b.err.text, "randaugment: there is no column of pictures U8 (H, W, C); it "
                                 "belongs before normalize and to_float");
    bench_refuses_maps(&b, "randaugment");
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("augmentation");
    TCase *c = tcase_create("augmentation");
    tcase_add_loop_test(c, a_change_computes_what_pillow_does, 0, CASES);
    tcase_add_test(c, nothing_to_change_changes_nothing);
    tcase_add_test(c, steady_functions_are_the_librarys);
    tcase_add_loop_test(c, draws_are_those_of_the_librarys_functions, 0, 3);
    tcase_add_test(c, a_turn_by_whole_degrees_is_that_of_pillow);
    tcase_add_loop_test(c, randaugment_draws_for_each_epoch_and_sample, 0, 3);
    tcase_add_test(c, no_change_is_the_picture_itself);
    tcase_add_test(c, augmix_mixes_chains_into_the_picture);
    tcase_add_test(c, what_is_no_picture_stays_or_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
