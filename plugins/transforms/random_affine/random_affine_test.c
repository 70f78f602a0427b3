/* random_affine_test.c - bytes as torchvision 0.29.2 makes them of Pillow images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"

static test_settings g;

/* tests/peers/vision.py, with Pillow 13.0.0. */
static const struct {
    int64_t channels;
    double degrees, scale, shear_x, shear_y;
    int64_t filter, fill;
    uint64_t want;
} cases[] = {
    {3, 0, 1, 0, 0, 0, 0, 0xcc7cdc31986d363u},
    {3, 20, 1, 0, 0, 0, 0, 0xb1a8924cafca8261u},
    {3, -35.5, 1.25, 0, 0, 0, 7, 0x380490b19a6cf49du},
    {3, -35.5, 1.25, 0, 0, 1, 7, 0xa6e3cdebffa28dc9u},
    {3, 0, 0.7, 0, 0, 0, 0, 0xbde458976be6c150u},
    {3, 0, 0.7, 0, 0, 1, 0, 0x49108933fac23e89u},
    {3, 11, 0.9, 15, -8, 0, 0, 0xc10acf5b2b6c66bu},
    {3, 11, 0.9, 15, -8, 1, 0, 0xf513a166129a2266u},
    {1, 5, 1.1, -20, 4, 0, 33, 0x386b2a9dedbed352u},
    {1, 5, 1.1, -20, 4, 1, 33, 0x2cd52de3746564c8u},
};

static void settings(int i)
{
    test_settings_init(&g);
    static const double still[2] = {0.0, 0.0};
    test_settings_floats(&g, "degrees", &cases[i].degrees, 1);
    test_settings_floats(&g, "translate", still, 2);
    test_settings_floats(&g, "scale", &cases[i].scale, 1);
    test_settings_floats(&g, "shear", &cases[i].shear_x, 1);
    test_settings_floats(&g, "shear_y", &cases[i].shear_y, 1);
    test_settings_enum(&g, "interpolation", cases[i].filter ? "bilinear" : "nearest",
                       cases[i].filter);
    test_settings_int(&g, "fill", cases[i].fill);
}

START_TEST(bytes_are_those_of_torchvision)
{
    settings(_i);
    picture_is("random_affine", &g, cases[_i].channels, cases[_i].want);
}
END_TEST

START_TEST(draws_are_keyed)
{
    settings(0);
    picture_draws("random_affine", &g, 0);
    picture_probability("random_affine", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_affine");
    TCase *c = tcase_create("random_affine");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, draws_are_keyed);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
