/* progressive_resizing_test.c - the size at each time, and which pixels are kept. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"

enum { B = 2, H = 12, W = 16, C = 2 };

static run r;
static subject s;
static tutti_error err;
static float x[B * H * W * C];
static int32_t dense[B * H * W], labels[B];

static void settings(test_settings *g, double initial, double finetune, double delay)
{
    test_settings_init(g);
    test_settings_enum(g, "mode", "resize", 0);
    test_settings_float(g, "initial_scale", initial);
    test_settings_float(g, "finetune_fraction", finetune);
    test_settings_float(g, "delay_fraction", delay);
    test_settings_int(g, "size_increment", 4);
    test_settings_bool(g, "resize_targets", 0);
}

static void start(const test_settings *g)
{
    memset(&err, 0, sizeof err);
    run_init(&r);
    run_kernels(&r);
    for (int k = 0; k < B * H * W * C; k++)
        x[k] = (float)k;
    for (int k = 0; k < B * H * W; k++)
        dense[k] = k;
    run_column(&r, "input", shape(TUTTI_F32, B, H, W, C), x);
    run_column(&r, "target", shape(TUTTI_I32, B, H, W), dense);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "progressive_resizing", g,
                              r.services, &err),
                 err);
}

static void apply(double elapsed)
{
    r.elapsed = elapsed;
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err), 1);
}

/* 16 pixels: half is 8; at 0.65 the scale is 0.75 and 12; 0.6 gives 0.6667, 10.67, which rounds to
 * 12; 0.56 gives 0.6, 9.6, which rounds to 8. */
START_TEST(the_width_grows_in_steps)
{
    static const double elapsed[] = {0.0, 0.49, 0.56, 0.6, 0.65, 0.8, 1.0};
    static const int64_t want[] = {8, 8, 8, 12, 12, 16, 16};
    static const double scale[] = {0.5, 0.5, 0.6, 0.5 + 0.5 / 3, 0.75, 1.0, 1.0};
    test_settings g;
    settings(&g, 0.5, 0.2, 0.5);
    start(&g);
    apply(elapsed[_i]);
    ck_assert_str_eq(err.text, "");
    ck_assert_int_eq(r.columns[0].desc.dim[2], want[_i]);
    ck_assert_int_eq(r.columns[0].desc.dim[1], want[_i] * H / W);
    ck_assert_str_eq(r.logged[0].name, "progressive_resizing/height");
    ck_assert_close(r.logged[0].value, (double)(want[_i] * H / W), 0.0);
    ck_assert_str_eq(r.logged[1].name, "progressive_resizing/width");
    ck_assert_close(r.logged[1].value, (double)want[_i], 0.0);
    ck_assert_str_eq(r.logged[2].name, "progressive_resizing/scale_factor");
    ck_assert_close(r.logged[2].value, scale[_i], 1e-12);
    if (want[_i] == W)
        ck_assert_ptr_eq(r.columns[0].data, x);
    subject_close(&s);
}
END_TEST

START_TEST(without_a_ramp_the_size_jumps)
{
    test_settings g;
    settings(&g, 0.5, 0.5, 0.5);
    start(&g);
    apply(0.4);
    ck_assert_int_eq(r.columns[0].desc.dim[2], 8);
    subject_close(&s);
    start(&g);
    apply(0.5);
    ck_assert_int_eq(r.columns[0].desc.dim[2], W);
    subject_close(&s);
}
END_TEST

/* 12 of 16: pixel k comes from the whole part of k * 4 / 3. */
START_TEST(resizing_takes_the_nearest_pixels_of_images_and_targets)
{
    test_settings g;
    settings(&g, 0.75, 0.2, 0.5);
    test_settings_bool(&g, "resize_targets", 1);
    start(&g);
    apply(0.0);
    ck_assert_str_eq(err.text, "");
    const float *y = r.columns[0].data;
    const int32_t *t = r.columns[1].data;
    const tutti_desc want = shape(TUTTI_I32, B, 9, 12);
    ck_assert(tutti_same_shape(&r.columns[1].desc, &want));
    for (int k = 0; k < B * 9 * 12; k++) {
        const int b = k / 108, from = (b * H + k / 12 % 9 * 4 / 3) * W + k % 12 * 4 / 3;
        ck_assert_int_eq(t[k], from);
        ck_assert_close(y[k * C + 1], (double)(from * C + 1), 0.0);
    }
    subject_close(&s);
}
END_TEST

START_TEST(cropping_cuts_one_window_for_the_batch)
{
    test_settings g;
    float first[4] = {0.0f};
    settings(&g, 0.5, 0.2, 0.5);
    test_settings_enum(&g, "mode", "crop", 1);
    int differ = 0;
    for (int batch = 0; batch < 8; batch++) {
        start(&g);
        r.time.batch = batch;
        apply(0.0);
        const float *y = r.columns[0].data;
        const int64_t at = (int64_t)y[0] / C, top = at / W, left = at % W;
        ck_assert(top < H - 6 && left < W - 8); /* as upstream, never the last window */
        for (int k = 0; k < B * 6 * 8; k++)
            ck_assert_int_eq((int64_t)y[k * C] / C,
                             (k / 48 * H + top + k / 8 % 6) * W + left + k % 8);
        differ += y[0] != first[0];
        first[0] = y[0];
        subject_close(&s);
    }
    ck_assert_int_ge(differ, 4);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
    test_settings g;
    settings(&g, 0.5, 0.6, 0.5);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "progressive_resizing", &g,
                           TUTTI_E_ARG,
                           "progressive_resizing: delay_fraction 0.5 and finetune_fraction 0.6 "
                           "together are more than 1");
    settings(&g, 0.1, 0.2, 0.5);
    start(&g);
    apply(0.0);
    ck_assert_error(err, TUTTI_E_RANGE,
                    "progressive_resizing: scale 0.1 in steps of 4 leaves nothing of 12 x 16 "
                    "pixels");
    subject_close(&s);
    settings(&g, 0.5, 0.2, 0.5);
    test_settings_bool(&g, "resize_targets", 1);
    start(&g);
    r.columns[1] = (tutti_tensor){labels, shape(TUTTI_I32, B), TUTTI_DEVICE_CPU, 0};
    apply(0.0);
    ck_assert_error(
        err, TUTTI_E_SHAPE,
        "progressive_resizing: the target is I32 (2), want one of the images' height "
        "and width to resize");
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("progressive_resizing");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, the_width_grows_in_steps, 0, 7);
    tcase_add_test(t, without_a_ramp_the_size_jumps);
    tcase_add_test(t, resizing_takes_the_nearest_pixels_of_images_and_targets);
    tcase_add_test(t, cropping_cuts_one_window_for_the_batch);
    tcase_add_test(t, what_makes_no_sense_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
