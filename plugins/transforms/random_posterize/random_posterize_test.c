/* random_posterize_test.c - bytes as torchvision 0.29.2 makes them of Pillow images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"

static test_settings g;

/* tests/peers/vision.py, with Pillow 13.0.0. */
static const struct {
    int64_t channels;
    int64_t bits;
    uint64_t want;
} cases[] = {
    {3, 1, 0x3de0613f1098f2e5u}, {3, 3, 0x810696da909d3805u}, {3, 4, 0x2a26e65578763915u},
    {3, 7, 0x859ad7c21137611fu}, {3, 8, 0xcc7cdc31986d363u},  {1, 1, 0xea0ba579d8b300e5u},
    {1, 3, 0x349c2fa9ecce465u},  {1, 4, 0x2d1eee7de02d36c5u}, {1, 7, 0x27b781a00aa5e44fu},
    {1, 8, 0x4ff380a217bf9917u},
};

static void settings(int i)
{
    test_settings_init(&g);
    test_settings_int(&g, "bits", cases[i].bits);
}

START_TEST(bytes_are_those_of_torchvision)
{
    settings(_i);
    test_settings_float(&g, "p", 1.0);
    picture_is("random_posterize", &g, cases[_i].channels, cases[_i].want);
}
END_TEST

START_TEST(draws_are_keyed)
{
    settings(0);
    test_settings_float(&g, "p", 0.25);
    picture_draws("random_posterize", &g, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_posterize");
    TCase *c = tcase_create("random_posterize");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, draws_are_keyed);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
