/* random_solarize_test.c - bytes as torchvision 0.29.2 makes them of Pillow images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"

static test_settings g;

/* tests/peers/vision.py, with Pillow 13.0.0. */
static const struct {
    int64_t channels;
    double threshold;
    uint64_t want;
} cases[] = {
    {3, 0.0, 0x789f9dbbebd74353u},   {3, 100.0, 0x81f6dbe230890c2bu},
    {3, 127.5, 0x18f98a8079f950c9u}, {3, 255.0, 0x19be59ee340d0001u},
    {3, 256.0, 0xcc7cdc31986d363u},  {1, 0.0, 0x1577a53b3ee1ef13u},
    {1, 100.0, 0x8df07199e85017a0u}, {1, 127.5, 0x542f48afd7dc5250u},
    {1, 255.0, 0x74fa0988e91f6f71u}, {1, 256.0, 0x4ff380a217bf9917u},
};

static void settings(int i)
{
    test_settings_init(&g);
    test_settings_float(&g, "threshold", cases[i].threshold);
}

START_TEST(bytes_are_those_of_torchvision)
{
    settings(_i);
    test_settings_float(&g, "p", 1.0);
    picture_is("random_solarize", &g, cases[_i].channels, cases[_i].want);
}
END_TEST

START_TEST(draws_are_keyed)
{
    settings(0);
    test_settings_float(&g, "p", 0.25);
    picture_draws("random_solarize", &g, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_solarize");
    TCase *c = tcase_create("random_solarize");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, draws_are_keyed);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
