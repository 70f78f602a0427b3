/* cutout_test.c - which pixels of a batch are blank. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"

enum { B = 2, H = 9, W = 12, C = 3 };

static run r;
static subject s;
static tutti_error err;
static float x[B * H * W * C];

static void start(int64_t holes, double length, int uniform)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_int(&g, "num_holes", holes);
    test_settings_float(&g, "length", length);
    test_settings_bool(&g, "uniform_sampling", uniform);
    memset(&err, 0, sizeof err);
    run_init(&r);
    run_kernels(&r);
    for (int k = 0; k < B * H * W * C; k++)
        x[k] = 1.0f;
    run_column(&r, "input", shape(TUTTI_F32, B, H, W, C), x);
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "cutout", &g, r.services, &err),
        err);
}

static void cut(int64_t batch)
{
    r.time.batch = batch;
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err), 1);
    ck_assert_str_eq(err.text, "");
}

static int blank(int y, int column)
{
    return x[(y * W + column) * C] == 0.0f;
}

/* Pixels that are blank in the first image. */
static int count(void)
{
    int n = 0;
    for (int y = 0; y < H; y++)
        for (int column = 0; column < W; column++)
            n += blank(y, column);
    return n;
}

/* A side of 1 blanks nothing, 3 is 2 x 2 and 4 is 4 x 4 away from the borders. */
START_TEST(a_hole_has_twice_half_its_side_rounded_down)
{
    static const int sides[] = {1, 3, 4}, want[] = {0, 2, 4};
    int largest = 0;
    for (int batch = 0; batch < 60; batch++) {
        start(1, (sides[_i] + 0.1) / H, 0);
        cut(batch);
        const int n = count();
        ck_assert_int_le(n, want[_i] * want[_i]);
        largest = n > largest ? n : largest;
        subject_close(&s);
    }
    ck_assert_int_eq(largest, want[_i] * want[_i]);
}
END_TEST

START_TEST(all_images_and_channels_have_the_same_holes)
{
    start(3, 0.4, _i);
    cut(5);
    for (int b = 0; b < B; b++)
        for (int k = 0; k < H * W * C; k++)
            ck_assert_int_eq(x[b * H * W * C + k] == 0.0f, blank(k / C / W, k / C % W));
    subject_close(&s);
}
END_TEST

/* 2000 holes of 4 x 4: drawn inside, a corner is in a hole for 3 x 3 centres of 108 (2 rows and
 * columns beyond it, and its own); with centres beyond the image for 4 x 4 of 13 x 16.  Five
 * standard errors of a share p are 5 sqrt(p (1 - p) / 2000). */
START_TEST(corners_are_hit_as_often_as_said)
{
    const double want = _i ? 16.0 / (13 * 16) : 9.0 / (9 * 12);
    int hits = 0;
    start(1, 0.5, _i);
    for (int batch = 0; batch < 2000; batch++) {
        for (int k = 0; k < B * H * W * C; k++)
            x[k] = 1.0f;
        cut(batch);
        hits += blank(0, 0);
    }
    ck_assert_close(hits / 2000.0, want, 5.0 * sqrt(want * (1.0 - want) / 2000.0));
    subject_close(&s);
}
END_TEST

START_TEST(draws_depend_on_seed_and_batch_alone)
{
    float got[4][B * H * W * C];
    for (int k = 0; k < 4; k++) {
        start(2, 0.5, 0);
        r.seed = k == 1 ? 18 : 17;
        cut(k == 2 ? 8 : 7);
        memcpy(got[k], x, sizeof x);
        subject_close(&s);
    }
    ck_assert_mem_ne(got[1], got[0], sizeof x);
    ck_assert_mem_ne(got[2], got[0], sizeof x);
    ck_assert_mem_eq(got[3], got[0], sizeof x);
}
END_TEST

START_TEST(inputs_that_are_no_images_are_refused)
{
    start(1, 0.5, 0);
    r.columns[0].desc = shape(TUTTI_F32, B, H);
    (void)run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err);
    ck_assert_error(err, TUTTI_E_SHAPE,
                    "cutout: the input is F32 (2, 9), want images (B, H, W, C)");
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cutout");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, a_hole_has_twice_half_its_side_rounded_down, 0, 3);
    tcase_add_loop_test(t, all_images_and_channels_have_the_same_holes, 0, 2);
    tcase_add_loop_test(t, corners_are_hit_as_often_as_said, 0, 2);
    tcase_add_test(t, draws_depend_on_seed_and_batch_alone);
    tcase_add_test(t, inputs_that_are_no_images_are_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
