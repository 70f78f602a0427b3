/* random_autocontrast_test.c - bytes as torchvision 0.29.2 makes them of Pillow images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"

static test_settings g;

/* tests/peers/vision.py, with Pillow 13.0.0: of a picture from 20 to 147. */
static const struct {
    int64_t channels;
    uint64_t want;
} cases[] = {
    {3, 0xe4f926989f660fe3u},
    {1, 0x88c7cb10a0e66ff1u},
};

START_TEST(bytes_are_those_of_torchvision)
{
    uint8_t x[PICTURE_BYTES], y[PICTURE_BYTES];
    const int64_t channels = cases[_i].channels;
    const size_t n = (size_t)(PICTURE_H * PICTURE_W * channels);
    bench_picture(x, PICTURE_H, PICTURE_W, channels);
    for (size_t k = 0; k < n; k++)
        x[k] = (uint8_t)(20 + x[k] / 2);
    test_settings_init(&g);
    test_settings_float(&g, "p", 1.0);
    ck_assert_int_eq(picture_changed("random_autocontrast", &g, x, channels, 0, y), 1);
    ck_assert_uint_eq(bench_sum(y, n), cases[_i].want);
}
END_TEST

START_TEST(draws_are_keyed)
{
    test_settings_init(&g);
    test_settings_float(&g, "p", 0.25);
    picture_draws("random_autocontrast", &g, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_autocontrast");
    TCase *c = tcase_create("random_autocontrast");
    tcase_add_loop_test(c, bytes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, draws_are_keyed);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
