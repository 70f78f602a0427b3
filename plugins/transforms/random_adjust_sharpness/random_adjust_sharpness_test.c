/* random_adjust_sharpness_test.c - bytes as torchvision 0.29.2 makes them of Pillow images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"

static test_settings g;

/* tests/peers/vision.py, with Pillow 13.0.0. */
static const struct {
    int64_t channels;
    double factor;
    uint64_t want;
} cases[] = {
    {3, 0.0, 0x340d93ad592a6fbau}, {3, 0.5, 0x99ce807697890cddu}, {3, 1.0, 0xcc7cdc31986d363u},
    {3, 2.0, 0xada969a47a4ff278u}, {3, 3.7, 0x43187c396802a95du}, {1, 0.0, 0x6c922c51dba9f96du},
    {1, 0.5, 0x90b11b1437d19eb0u}, {1, 1.0, 0x4ff380a217bf9917u}, {1, 2.0, 0xd170d1bd3f0af47bu},
    {1, 3.7, 0x9f74e4f916feff50u},
};

static void settings(int i)
{
    test_settings_init(&g);
    test_settings_float(&g, "sharpness_factor", cases[i].factor);
}

START_TEST(bytes_are_those_of_torchvision)
{
    settings(_i);
    test_settings_float(&g, "p", 1.0);
    picture_is("random_adjust_sharpness", &g, cases[_i].channels, cases[_i].want);
}
END_TEST

START_TEST(draws_are_keyed)
{
    settings(0);
    test_settings_float(&g, "p", 0.25);
    picture_draws("random_adjust_sharpness", &g, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_adjust_sharpness");
    TCase *c = tcase_create("random_adjust_sharpness");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, draws_are_keyed);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
