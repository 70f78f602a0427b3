/* random_channel_permutation_test.c - each order of the channels, and each as likely. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"

START_TEST(each_order_is_as_likely)
{
    enum { DRAWS = 1200, N = PICTURE_H * PICTURE_W };
    static uint8_t x[PICTURE_BYTES], y[PICTURE_BYTES];
    int seen[27] = {0}, orders = 0;
    test_settings g;
    test_settings_init(&g);
    bench_picture(x, PICTURE_H, PICTURE_W, 3);
    for (uint64_t k = 0; k < DRAWS; k++) {
        int from[3] = {-1, -1, -1};
        ck_assert_int_eq(picture_changed("random_channel_permutation", &g, NULL, 3, k, y), 1);
        for (int c = 0; c < 3; c++)
            for (int j = 0; j < 3; j++) {
                int same = 1;
                for (int i = 0; i < N; i++)
                    same = same && y[3 * i + c] == x[3 * i + j];
                from[c] = same ? j : from[c];
            }
        for (int c = 0; c < 3; c++)
            ck_assert_int_ge(from[c], 0);
        ck_assert_int_eq((1 << from[0]) | (1 << from[1]) | (1 << from[2]), 7);
        seen[from[0] * 9 + from[1] * 3 + from[2]]++;
    }
    for (int k = 0; k < 27; k++)
        if (seen[k]) { /* five standard deviations */
            orders++;
            ck_assert_close(seen[k], DRAWS / 6.0, 5.0 * sqrt(DRAWS * 5.0 / 36.0));
        }
    ck_assert_int_eq(orders, 6);
    picture_draws("random_channel_permutation", &g, 0);
    picture_probability("random_channel_permutation", &g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_channel_permutation");
    TCase *c = tcase_create("random_channel_permutation");
    tcase_add_test(c, each_order_is_as_likely);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
