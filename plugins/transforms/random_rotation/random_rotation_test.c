/* random_rotation_test.c - bytes as torchvision 0.29.2 makes them of Pillow images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"

static test_settings g;

/* tests/peers/vision.py, with Pillow 13.0.0. */
static const struct {
    int64_t channels;
    double degrees;
    int64_t filter, fill;
    uint64_t want;
} cases[] = {
    {3, 0, 0, 0, 0xcc7cdc31986d363u},        {3, 30, 0, 0, 0x89f5bf2f164fb71du},
    {3, 30, 1, 0, 0x4cbc720633440173u},      {3, -77.5, 0, 9, 0x5461396a64d8993bu},
    {3, -77.5, 1, 9, 0xbb4687809e1de69u},    {3, 90, 0, 0, 0x2d3ccd5cdbf7d917u},
    {3, 180, 0, 5, 0xe0ffd1ebf876a483u},     {1, 12.25, 0, 200, 0x525826b684ca7bbau},
    {1, 12.25, 1, 200, 0x7393721c451935a8u}, {1, 400, 0, 0, 0x79cfe5415d0f2275u},
};

static void settings(int i)
{
    test_settings_init(&g);
    test_settings_floats(&g, "degrees", &cases[i].degrees, 1);
    test_settings_enum(&g, "interpolation", cases[i].filter ? "bilinear" : "nearest",
                       cases[i].filter);
    test_settings_int(&g, "fill", cases[i].fill);
}

START_TEST(bytes_are_those_of_torchvision)
{
    settings(_i);
    picture_is("random_rotation", &g, cases[_i].channels, cases[_i].want);
}
END_TEST

START_TEST(draws_are_keyed)
{
    settings(0);
    picture_draws("random_rotation", &g, 0);
    picture_probability("random_rotation", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_rotation");
    TCase *c = tcase_create("random_rotation");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, draws_are_keyed);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
