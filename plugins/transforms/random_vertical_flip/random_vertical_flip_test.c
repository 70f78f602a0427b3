/* random_vertical_flip_test.c - rows in the other order, of the share p, in maps too. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_check.h"

static bench b;
static test_settings g;

static void settings(double p)
{
    test_settings_init(&g);
    test_settings_float(&g, "p", p);
    bench_open(&b, "random_vertical_flip", &g);
}

START_TEST(a_flip_mirrors_top_to_bottom)
{
    const tutti_desc bytes = {{3, 2, 2}, 3, TUTTI_U8}, floats = {{2, 1, 1}, 3, TUTTI_F32};
    const uint8_t x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const uint8_t want[12] = {9, 10, 11, 12, 5, 6, 7, 8, 1, 2, 3, 4};
    uint8_t y[12];
    float fy[2];
    tutti_desc made;
    settings(1.0);
    ck_assert_int_eq(bench_apply(&b, &bytes, x, y, 0, 0, &made), 1);
    ck_assert(tutti_same_shape(&made, &bytes));
    ck_assert_mem_eq(y, want, sizeof want);
    ck_assert_int_eq(bench_apply(&b, &floats, (const float[]){1.5f, -2}, fy, 0, 0, &made), 1);
    ck_assert_float_eq(fy[0], -2);
    ck_assert_float_eq(fy[1], 1.5f);
    subject_close(&b.subject);
}
END_TEST

START_TEST(a_share_p_is_flipped_and_draws_are_keyed)
{
    enum { DRAWS = 2000 };
    const tutti_desc image = {{2, 2, 1}, 3, TUTTI_U8};
    const uint8_t x[4] = {1, 2, 3, 4};
    uint8_t y[4];
    tutti_desc made;
    int flipped = 0, differ = 0;
    settings(0.3);
    for (uint64_t k = 0; k < DRAWS; k++) {
        const int32_t now = bench_apply(&b, &image, x, y, 1, k, &made);
        flipped += now;
        ck_assert_int_eq(bench_apply(&b, &image, x, y, 1, k, &made), now);
        differ += bench_apply(&b, &image, x, y, 2, k, &made) != now;
    }
    subject_close(&b.subject);
    /* five deviations; of two epochs a share of 2 p (1 - p) differs */
    ck_assert_close(flipped, 0.3 * DRAWS, 5.0 * sqrt(DRAWS * 0.3 * 0.7));
    ck_assert_close(differ, 0.42 * DRAWS, 5.0 * sqrt(DRAWS * 0.42 * 0.58));
}
END_TEST

START_TEST(a_map_of_the_pixels_moves_with_them_and_others_stay)
{
    const uint8_t pixels[12] = {0};
    const int32_t map[4] = {1, 2, 3, 4}, want[4] = {3, 4, 1, 2};
    int32_t out[4];
    const tutti_tensor columns[] = {
        {(void *)(uintptr_t)pixels, {{2, 2, 3}, 3, TUTTI_U8}, TUTTI_DEVICE_CPU, 0},
        {(void *)(uintptr_t)map, {{2, 2}, 2, TUTTI_I32}, TUTTI_DEVICE_CPU, 0},
        {(void *)(uintptr_t)map, {{4}, 1, TUTTI_I32}, TUTTI_DEVICE_CPU, 0}};
    const tutti_sample sample = {sizeof sample, 3, 17, 0, 0, columns};
    tutti_tensor to = {out, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0};
    settings(1.0);
    ck_assert_int_eq(b.table->apply(b.subject.self, &sample, 1, &columns[1], &to, &b.err), 1);
    ck_assert(tutti_same_shape(&to.desc, &columns[1].desc));
    ck_assert_mem_eq(out, want, sizeof want);
    ck_assert_int_eq(b.table->apply(b.subject.self, &sample, 2, &columns[2], &to, &b.err), 0);
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_vertical_flip");
    TCase *c = tcase_create("random_vertical_flip");
    tcase_add_test(c, a_flip_mirrors_top_to_bottom);
    tcase_add_test(c, a_share_p_is_flipped_and_draws_are_keyed);
    tcase_add_test(c, a_map_of_the_pixels_moves_with_them_and_others_stay);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
