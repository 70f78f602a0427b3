/* random_perspective_test.c - bytes as torchvision 0.29.2 makes them of Pillow images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/warp.h"
#include "../picture_change_check.h"

static test_settings g;

/* Filter, and bytes of tests/peers/vision.py: torchvision 0.29.2, Pillow 13.0.0. */
static const struct {
    int32_t filter;
    uint8_t want[360];
} cases[] = {
    {0,
     {4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,
      4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,
      0,   53,  106, 4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,
      4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   74,  127, 180, 51,  104, 157,
      79,  132, 185, 55,  108, 161, 4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,
      4,   4,   4,   4,   4,   4,   148, 201, 254, 131, 184, 237, 171, 224, 21,  142, 195, 248,
      135, 188, 241, 4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,
      185, 238, 35,  211, 8,   61,  217, 14,  67,  240, 37,  90,  30,  83,  136, 15,  68,  121,
      4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   222, 19,  72,  251, 48,  101,
      24,  77,  130, 82,  135, 188, 53,  106, 159, 50,  103, 156, 4,   4,   4,   4,   4,   4,
      4,   4,   4,   3,   56,  109, 3,   56,  109, 35,  88,  141, 67,  120, 173, 131, 184, 237,
      76,  129, 182, 140, 193, 246, 117, 170, 223, 4,   4,   4,   4,   4,   4,   40,  93,  146,
      40,  93,  146, 75,  128, 181, 110, 163, 216, 145, 198, 251, 128, 181, 234, 163, 216, 13,
      146, 199, 252, 4,   4,   4,   4,   4,   4,   77,  130, 183, 77,  130, 183, 115, 168, 221,
      153, 206, 3,   191, 244, 41,  142, 195, 248, 186, 239, 36,  12,  65,  118, 4,   4,   4,
      4,   4,   4,   114, 167, 220, 114, 167, 220, 155, 208, 5,   196, 249, 46,  150, 203, 0,
      191, 244, 41,  241, 38,  91,  29,  82,  135, 30,  83,  136, 4,   4,   4,   114, 167, 220,
      114, 167, 220, 195, 248, 45,  239, 36,  89,  196, 249, 46,  240, 37,  90,  28,  81,  134,
      4,   4,   4,   4,   4,   4,   4,   4,   4,   151, 204, 1,   151, 204, 1,   195, 248, 45,
      239, 36,  89,  4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4}},
    {1,
     {4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,
      4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,
      6,   59,  112, 4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,
      4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   78,  131, 184, 75,  128, 181,
      65,  118, 171, 54,  107, 160, 4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,
      4,   4,   4,   4,   4,   4,   140, 193, 206, 149, 202, 116, 156, 209, 63,  160, 188, 113,
      155, 208, 148, 4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,
      193, 170, 43,  211, 62,  61,  152, 77,  80,  179, 47,  100, 88,  68,  121, 42,  73,  126,
      4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   181, 36,  89,  169, 60,  113,
      41,  88,  141, 67,  120, 173, 96,  86,  139, 59,  112, 165, 4,   4,   4,   4,   4,   4,
      4,   4,   4,   14,  67,  120, 24,  77,  130, 53,  106, 159, 86,  139, 192, 117, 170, 223,
      85,  138, 187, 140, 193, 241, 118, 171, 224, 4,   4,   4,   4,   4,   4,   46,  99,  152,
      60,  113, 166, 92,  145, 184, 130, 183, 167, 138, 191, 197, 139, 192, 171, 186, 180, 36,
      194, 119, 108, 4,   4,   4,   4,   4,   4,   75,  128, 181, 92,  145, 196, 127, 180, 158,
      164, 217, 14,  173, 226, 63,  183, 178, 103, 198, 151, 48,  81,  54,  98,  4,   4,   4,
      4,   4,   4,   100, 153, 206, 121, 174, 147, 157, 210, 31,  194, 239, 44,  162, 211, 12,
      196, 135, 70,  175, 94,  87,  90,  67,  120, 30,  83,  136, 4,   4,   4,   124, 177, 159,
      147, 200, 82,  185, 213, 35,  228, 86,  78,  197, 234, 47,  235, 37,  90,  86,  69,  122,
      4,   4,   4,   4,   4,   4,   4,   4,   4,   145, 198, 33,  170, 223, 20,  201, 217, 51,
      235, 50,  85,  4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4}},
};

/* Coefficients of corners (2, 1), (7, 3), (9, 9), (1, 11) that torch finds by least squares. */
START_TEST(bytes_are_those_of_torchvision)
{
    static const double c[8] = {1.034482717514038,    0.1034482792019844, -2.1724138259887695,
                                -0.7586206793785095,  1.8965517282485962, -0.37931033968925476,
                                -0.09195402264595032, 0.08045977354049683};
    const warp_options o = {cases[_i].filter, {4, 4, 4}};
    uint8_t y[360], scratch[360];
    const picture x = {y, 12, 10, 3};
    bench_picture(y, 12, 10, 3);
    warp_perspective(&x, c, &o, scratch);
    ck_assert_mem_eq(y, cases[_i].want, sizeof y);
}
END_TEST

static void settings(double distortion)
{
    test_settings_init(&g);
    test_settings_float(&g, "distortion_scale", distortion);
    test_settings_enum(&g, "interpolation", "bilinear", WARP_BILINEAR);
    test_settings_int(&g, "fill", 0);
}

START_TEST(without_distortion_nothing_moves)
{
    uint8_t x[PICTURE_BYTES], y[PICTURE_BYTES];
    bench_picture(x, PICTURE_H, PICTURE_W, 3);
    settings(0.0);
    test_settings_float(&g, "p", 1.0);
    ck_assert_int_eq(picture_changed("random_perspective", &g, NULL, 3, 0, y), 1);
    for (int k = 0; k < PICTURE_BYTES; k++)
        ck_assert_int_le(abs(x[k] - y[k]), 1);
}
END_TEST

START_TEST(draws_are_keyed)
{
    settings(0.5);
    test_settings_float(&g, "p", 0.25);
    picture_draws("random_perspective", &g, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_perspective");
    TCase *c = tcase_create("random_perspective");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, without_distortion_nothing_moves);
    tcase_add_test(c, draws_are_keyed);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
