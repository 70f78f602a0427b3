/* random_crop_test.c - every crop is a window of the padded image, and all windows come. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_check.h"

enum { H = 4, W = 6, C = 2, P = 2 };

static bench b;
static test_settings g;
static const tutti_desc image = {{H, W, C}, 3, TUTTI_U8};

static void open_with(int64_t padding, int reflect)
{
    test_settings_init(&g);
    test_settings_int(&g, "padding", padding);
    test_settings_enum(&g, "mode", reflect ? "reflect" : "zero", reflect);
    bench_open(&b, "random_crop", &g);
}

/* The padded image at (y, x). */
static uint8_t padded(const uint8_t *x, int64_t row, int64_t column, int c, int reflect)
{
    if (reflect) {
        row = row < 0 ? -row : row >= H ? 2 * H - 2 - row : row;
        column = column < 0 ? -column : column >= W ? 2 * W - 2 - column : column;
    }
    const int inside = row >= 0 && row < H && column >= 0 && column < W;
    return inside ? x[(row * W + column) * C + c] : 0;
}

static int is_window(const uint8_t *x, const uint8_t *y, int64_t dy, int64_t dx, int reflect)
{
    for (int64_t r = 0; r < H; r++)
        for (int64_t k = 0; k < W; k++)
            for (int c = 0; c < C; c++)
                if (y[(r * W + k) * C + c] != padded(x, r + dy, k + dx, c, reflect))
                    return 0;
    return 1;
}

START_TEST(all_windows_of_the_padded_image_come)
{
    uint8_t x[H * W * C], y[H * W * C];
    int seen[2 * P + 1][2 * P + 1] = {{0}};
    tutti_desc made;
    for (int k = 0; k < H * W * C; k++)
        x[k] = (uint8_t)(k + 1);
    open_with(P, _i);
    for (uint64_t k = 0; k < 2000; k++) {
        int found = 0;
        ck_assert_int_eq(bench_apply(&b, &image, x, y, 1, k, &made), 1);
        ck_assert(tutti_same_shape(&made, &image));
        for (int dy = -P; dy <= P && !found; dy++)
            for (int dx = -P; dx <= P && !found; dx++)
                if (is_window(x, y, dy, dx, _i))
                    found = ++seen[dy + P][dx + P];
        ck_assert_int_ne(found, 0);
    }
    for (int dy = 0; dy <= 2 * P; dy++)
        for (int dx = 0; dx <= 2 * P; dx++)
            ck_assert_close(seen[dy][dx], 80, 45); /* five standard deviations */
    subject_close(&b.subject);
}
END_TEST

START_TEST(draws_are_keyed_by_epoch_and_sample)
{
    uint8_t x[H * W * C], y[H * W * C], again[H * W * C];
    int differ = 0;
    tutti_desc made;
    for (int k = 0; k < H * W * C; k++)
        x[k] = (uint8_t)(k + 1);
    open_with(P, 0);
    for (uint64_t k = 0; k < 100; k++) {
        (void)bench_apply(&b, &image, x, y, 1, k, &made);
        (void)bench_apply(&b, &image, x, again, 1, k, &made);
        ck_assert_mem_eq(y, again, sizeof y);
        (void)bench_apply(&b, &image, x, again, 2, k, &made);
        differ += memcmp(y, again, sizeof y) != 0;
    }
    ck_assert_int_gt(differ, 80);
    subject_close(&b.subject);
}
END_TEST

START_TEST(what_cannot_be_cropped_stays_or_is_refused)
{
    const tutti_desc label = {{0}, 0, TUTTI_I32};
    tutti_desc made, d = image;
    uint8_t x[H * W * C] = {0}, y[H * W * C];
    open_with(P, 0);
    ck_assert_int_eq(bench_apply(&b, &label, x, y, 0, 0, &made), 0);
    bench_refuses_maps(&b, "random_crop");
    subject_close(&b.subject);
    open_with(0, 0);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 0);
    subject_close(&b.subject);
    open_with(H, 1);
    ck_assert_int_eq(bench_infer(&b, &d), TUTTI_E_RANGE);
    ck_assert_error(b.err, TUTTI_E_RANGE,
                    "random_crop: padding is 4, want less than the sides of an image of 4 x 6 "
                    "to reflect");
    d.dim[0] = -1; /* known only when the sample is there */
    ck_assert_ok(bench_infer(&b, &d), b.err);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), TUTTI_E_RANGE);
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_crop");
    TCase *c = tcase_create("random_crop");
    tcase_add_loop_test(c, all_windows_of_the_padded_image_come, 0, 2);
    tcase_add_test(c, draws_are_keyed_by_epoch_and_sample);
    tcase_add_test(c, what_cannot_be_cropped_stays_or_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
