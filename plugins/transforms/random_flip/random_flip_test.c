/* random_flip_test.c - mirrored or not, how often, and always the same for a sample. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_check.h"

enum { H = 3, W = 5, C = 3 };

static bench b;
static test_settings g;
static const tutti_desc image = {{H, W, C}, 3, TUTTI_U8};

static void open_given(double p, int alternate)
{
    test_settings_init(&g);
    test_settings_float(&g, "p", p);
    test_settings_bool(&g, "alternate", alternate);
    bench_open(&b, "random_flip", &g);
}

static void open_with(double p)
{
    open_given(p, 0);
}

START_TEST(a_flip_mirrors_left_to_right)
{
    uint8_t x[H * W * C], y[H * W * C];
    tutti_desc made;
    for (int k = 0; k < H * W * C; k++)
        x[k] = (uint8_t)k;
    open_with(1.0);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 1);
    ck_assert(tutti_same_shape(&made, &image));
    for (int r = 0; r < H; r++)
        for (int k = 0; k < W; k++)
            for (int c = 0; c < C; c++)
                ck_assert_int_eq(y[(r * W + k) * C + c], x[(r * W + W - 1 - k) * C + c]);
    subject_close(&b.subject);
    open_with(0.0);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 0);
    subject_close(&b.subject);
}
END_TEST

START_TEST(a_share_p_is_flipped_and_draws_are_keyed)
{
    uint8_t x[H * W * C] = {0}, y[H * W * C];
    tutti_desc made;
    int flipped = 0, again = 0, differ = 0;
    open_with(0.3);
    for (uint64_t k = 0; k < 4000; k++) {
        const int32_t now = bench_apply(&b, &image, x, y, 2, k, &made);
        flipped += now;
        again += now == bench_apply(&b, &image, x, y, 2, k, &made);
        differ += now != bench_apply(&b, &image, x, y, 3, k, &made);
    }
    ck_assert_close(flipped, 1200, 120); /* four standard deviations */
    ck_assert_int_eq(again, 4000);
    ck_assert_close(differ, 1680, 130); /* 2 p (1 - p) */
    subject_close(&b.subject);
}
END_TEST

START_TEST(alternating_flips_show_both_sides_in_two_epochs)
{
    uint8_t x[H * W * C] = {0}, y[H * W * C];
    tutti_desc made;
    int flipped = 0;
    open_given(0.5, 1);
    for (uint64_t k = 0; k < 1000; k++) {
        const int32_t first = bench_apply(&b, &image, x, y, 0, k, &made);
        flipped += first;
        for (uint64_t epoch = 1; epoch < 6; epoch++)
            ck_assert_int_eq(bench_apply(&b, &image, x, y, epoch, k, &made),
                             epoch % 2 ? !first : first);
    }
    ck_assert_close(flipped, 500, 64); /* four standard deviations */
    subject_close(&b.subject);
}
END_TEST

/* Sample `index`'s image and map, (H, W) numbers, through apply; whether both or neither were mirrored. */
static int flips_both(const uint8_t *x, const int64_t *map, uint64_t index)
{
    uint8_t y[H * W * C];
    int64_t moved[H * W];
    const tutti_tensor columns[] = {
        {(void *)(uintptr_t)x, image, TUTTI_DEVICE_CPU, 0},
        {(void *)(uintptr_t)map, {{H, W}, 2, TUTTI_I64}, TUTTI_DEVICE_CPU, 0}};
    const tutti_sample sample = {sizeof sample, 2, 17, 0, index, columns};
    tutti_tensor outs[] = {{y, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0},
                           {moved, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0}};
    int32_t done[2];
    for (uint32_t k = 0; k < 2; k++)
        done[k] = b.table->apply(b.subject.self, &sample, k, &columns[k], &outs[k], &b.err);
    ck_assert_int_eq(done[0], done[1]);
    for (int k = 0; done[1] && k < H * W; k++)
        ck_assert_int_eq(moved[k], map[k - k % W + W - 1 - k % W]);
    return done[0];
}

START_TEST(a_map_of_the_pixels_moves_with_them)
{
    uint8_t x[H * W * C] = {0};
    int64_t map[H * W];
    int flipped = 0;
    for (int k = 0; k < H * W; k++)
        map[k] = k;
    open_with(0.5);
    for (uint64_t k = 0; k < 64; k++)
        flipped += flips_both(x, map, k);
    ck_assert_int_gt(flipped, 10);
    ck_assert_int_lt(flipped, 54);
    subject_close(&b.subject);
}
END_TEST

START_TEST(what_is_no_image_stays)
{
    const tutti_desc label = {{0}, 0, TUTTI_I32};
    tutti_desc made, d = label;
    int32_t x = 3, y;
    open_with(1.0);
    ck_assert_ok(bench_infer(&b, &d), b.err);
    ck_assert_int_eq(bench_apply(&b, &label, &x, &y, 0, 0, &made), 0);
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_flip");
    TCase *c = tcase_create("random_flip");
    tcase_add_test(c, a_flip_mirrors_left_to_right);
    tcase_add_test(c, a_share_p_is_flipped_and_draws_are_keyed);
    tcase_add_test(c, alternating_flips_show_both_sides_in_two_epochs);
    tcase_add_test(c, a_map_of_the_pixels_moves_with_them);
    tcase_add_test(c, what_is_no_image_stays);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
