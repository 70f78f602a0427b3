/* random_grayscale_test.c - bytes as torchvision 0.29.2 makes them of Pillow images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"

static test_settings g;

/* tests/peers/vision.py, with Pillow 13.0.0. */
static const struct {
    int64_t channels;
    uint64_t want;
} cases[] = {
    {3, 0x31069c9f1818e7ffu},
    {1, 0x4ff380a217bf9917u},
};

static void settings(int i)
{
    test_settings_init(&g);
    (void)i;
}

START_TEST(bytes_are_those_of_torchvision)
{
    settings(_i);
    test_settings_float(&g, "p", 1.0);
    picture_is("random_grayscale", &g, cases[_i].channels, cases[_i].want);
}
END_TEST

START_TEST(draws_are_keyed)
{
    settings(0);
    test_settings_float(&g, "p", 0.25);
    picture_draws("random_grayscale", &g, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_grayscale");
    TCase *c = tcase_create("random_grayscale");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, draws_are_keyed);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
