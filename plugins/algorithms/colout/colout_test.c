/* colout_test.c - which rows and columns stay, for batches and for single images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../transforms/transform_check.h"
#include "../algorithm_check.h"

enum { B = 3, H = 8, W = 10, C = 2 };

static run r;
static subject s;
static tutti_error err;
static float x[B * H * W * C];
static int32_t dense[B * H * W], labels[B];

static void start(double p_row, double p_col, const char *resize, int64_t index)
{
    given g;
    given_init(&g);
    given_float(&g, "p_row", p_row);
    given_float(&g, "p_col", p_col);
    given_enum(&g, "resize_target", resize, index);
    memset(&err, 0, sizeof err);
    run_init(&r);
    run_kernels(&r);
    for (int k = 0; k < B * H * W * C; k++)
        x[k] = (float)k;
    for (int k = 0; k < B * H * W; k++)
        dense[k] = k;
    run_column(&r, "input", shape(TUTTI_F32, B, H, W, C), x);
    run_column(&r, "target", shape(TUTTI_I32, B, H, W), dense);
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "colout", &g, r.services, &err),
        err);
}

static void apply(void)
{
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err), 1);
}

/* Every pixel is the one of the original at (rows ascending, columns ascending), for all images. */
START_TEST(a_batch_keeps_the_same_ascending_rows_and_columns)
{
    start(0.3, 0.15, "auto", 0);
    r.time.batch = _i;
    apply();
    ck_assert_str_eq(err.text, "");
    const tutti_desc want = shape(TUTTI_F32, B, 5, 8, C), pixels = shape(TUTTI_I32, B, 5, 8);
    ck_assert(tutti_same_shape(&r.columns[0].desc, &want));
    ck_assert(tutti_same_shape(&r.columns[1].desc, &pixels));
    const float *y = r.columns[0].data;
    const int32_t *t = r.columns[1].data;
    int64_t row[5], column[8];
    for (int k = 0; k < 5; k++)
        row[k] = (int64_t)y[k * 8 * C] / C / W;
    for (int k = 0; k < 8; k++)
        column[k] = (int64_t)y[k * C] / C % W;
    for (int k = 1; k < 8; k++)
        ck_assert(column[k] > column[k - 1] && (k > 4 || row[k] > row[k - 1]));
    for (int k = 0; k < B * 5 * 8; k++) {
        const int64_t b = k / 40, from = (b * H + row[k / 8 % 5]) * W + column[k % 8];
        ck_assert_int_eq((int64_t)y[k * C], from * C);
        ck_assert_int_eq((int64_t)y[k * C + 1], from * C + 1);
        ck_assert_int_eq(t[k], from);
    }
    subject_close(&s);
}
END_TEST

START_TEST(targets_stay_when_they_are_no_images_or_are_to_stay)
{
    start(0.3, 0.15, "no", 2);
    apply();
    ck_assert_ptr_eq(r.columns[1].data, dense);
    subject_close(&s);
    start(0.3, 0.15, "auto", 0);
    r.columns[1] = (tutti_tensor){labels, shape(TUTTI_I32, B), TUTTI_DEVICE_CPU, 0};
    apply();
    ck_assert_str_eq(err.text, "");
    ck_assert_ptr_eq(r.columns[1].data, labels);
    subject_close(&s);
    start(0.3, 0.15, "true", 1);
    r.columns[1] = (tutti_tensor){labels, shape(TUTTI_I32, B), TUTTI_DEVICE_CPU, 0};
    apply();
    ck_assert_error(
        err, TUTTI_E_SHAPE,
        "colout: the target is I32 (3), want one of the images' height and width to "
        "resize");
    ck_assert_ptr_eq(r.columns[0].data, x);
    subject_close(&s);
}
END_TEST

START_TEST(draws_depend_on_seed_and_batch_alone)
{
    float got[4][B * 6 * 8 * C];
    for (int k = 0; k < 4; k++) {
        start(0.25, 0.2, "no", 2);
        r.seed = k == 1 ? 18 : 17;
        r.time.batch = k == 2 ? 8 : 7;
        apply();
        memcpy(got[k], r.columns[0].data, sizeof got[k]);
        subject_close(&s);
    }
    ck_assert_mem_ne(got[1], got[0], sizeof got[0]);
    ck_assert_mem_ne(got[2], got[0], sizeof got[0]);
    ck_assert_mem_eq(got[3], got[0], sizeof got[0]);
}
END_TEST

START_TEST(dropping_all_is_refused)
{
    start(0.9, 0.15, "auto", 0);
    apply();
    ck_assert_error(err, TUTTI_E_RANGE,
                    "colout: p_row 0.9 and p_col 0.15 leave nothing of 8 x 10 pixels");
    subject_close(&s);
}
END_TEST

START_TEST(the_transform_draws_for_each_image)
{
    const tutti_desc image = {{H, W, C}, 3, TUTTI_U8}, label = {{0}, 0, TUTTI_I32};
    uint8_t in[H * W * C], out[H * W * C], again[H * W * C];
    tutti_desc made, d = image;
    bench b;
    given g;
    int differ = 0;
    for (int k = 0; k < H * W * C; k++)
        in[k] = (uint8_t)k;
    given_init(&g);
    given_float(&g, "p_row", 0.25);
    given_float(&g, "p_col", 0.5);
    bench_open(&b, "colout_transform", &g);
    ck_assert_ok(bench_infer(&b, &d), b.err);
    ck_assert_int_eq(d.dim[0], 6);
    ck_assert_int_eq(d.dim[1], 5);
    for (uint64_t k = 0; k < 20; k++) {
        ck_assert_int_eq(bench_apply(&b, &image, in, out, 1, k, &made), 1);
        ck_assert(tutti_same_shape(&made, &d));
        for (int j = 1; j < 6 * 5 * C; j++)
            ck_assert_int_gt(out[j], out[j - 1]); /* a part of the image, in its order */
        (void)bench_apply(&b, &image, in, again, 1, k + 1, &made);
        differ += memcmp(out, again, 6 * 5 * C) != 0;
    }
    ck_assert_int_gt(differ, 15);
    ck_assert_int_eq(bench_apply(&b, &label, in, out, 1, 0, &made), 0);
    d = image;
    d.dim[0] = 1;
    ck_assert_int_eq(bench_infer(&b, &d), TUTTI_E_RANGE);
    ck_assert_str_eq(b.err.text, "colout_transform: p_row 0.25 and p_col 0.5 leave nothing of "
                                 "1 x 10 pixels");
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("colout");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, a_batch_keeps_the_same_ascending_rows_and_columns, 0, 5);
    tcase_add_test(t, targets_stay_when_they_are_no_images_or_are_to_stay);
    tcase_add_test(t, draws_depend_on_seed_and_batch_alone);
    tcase_add_test(t, dropping_all_is_refused);
    tcase_add_test(t, the_transform_draws_for_each_image);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
