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
    test_settings g;
    test_settings_init(&g);
    test_settings_float(&g, "p_row", p_row);
    test_settings_float(&g, "p_col", p_col);
    test_settings_enum(&g, "resize_target", resize, index);
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
    test_settings g;
    int differ = 0;
    for (int k = 0; k < H * W * C; k++)
        in[k] = (uint8_t)k;
    test_settings_init(&g);
    test_settings_float(&g, "p_row", 0.25);
    test_settings_float(&g, "p_col", 0.5);
    test_settings_enum(&g, "resize_target", "auto", 0);
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

/* Columns of a sample beside its image: a number for each pixel, two for each, one for the image. */
enum { MAP = 1, VECTORS, LABEL, COLUMNS };
static const tutti_desc told[COLUMNS] = {{{H, W, C}, 3, TUTTI_U8},
                                         {{H, W}, 2, TUTTI_I32},
                                         {{H, W, 2}, 3, TUTTI_I64},
                                         {{3}, 1, TUTTI_F32}};

static tutti_status infer_told(bench *b, tutti_column *columns)
{
    for (int k = 0; k < COLUMNS; k++)
        columns[k] = (tutti_column){"a", told[k], 0};
    b->err = (tutti_error)TUTTI_ERROR_INIT;
    return b->table->infer(b->subject.self, columns, COLUMNS, &b->err);
}

static void open_resizing(bench *b, const char *resize, int64_t index)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_float(&g, "p_row", 0.25);
    test_settings_float(&g, "p_col", 0.5);
    test_settings_enum(&g, "resize_target", resize, index);
    run_init(&r);
    run_kernels(&r);
    memset(b, 0, sizeof *b);
    ck_assert_ok(subject_open(&b->subject, PLUGIN_PATH, TUTTI_KIND_TRANSFORM,
                              "colout_transform", &g, r.services, &b->err),
                 b->err);
    b->table = subject_query(&b->subject, TUTTI_TRANSFORM_V1);
}

START_TEST(what_has_the_pixels_of_an_image_loses_the_same_rows_and_columns)
{
    uint8_t in[H * W * C], out[6 * 5 * C];
    int32_t map[H * W], less[6 * 5];
    bench b;
    tutti_column columns[COLUMNS];
    for (int k = 0; k < H * W * C; k++)
        in[k] = (uint8_t)(k / C);
    for (int k = 0; k < H * W; k++)
        map[k] = k;
    open_resizing(&b, "auto", 0);
    ck_assert_ok(infer_told(&b, columns), b.err);
    for (int k = 0; k < LABEL; k++)
        ck_assert(columns[k].desc.dim[0] == 6 && columns[k].desc.dim[1] == 5);
    ck_assert_int_eq(columns[LABEL].desc.dim[0], 3);
    const tutti_tensor from[2] = {{in, told[0], TUTTI_DEVICE_CPU, 0},
                                  {map, told[MAP], TUTTI_DEVICE_CPU, 0}};
    const tutti_sample sample = {sizeof sample, 2, 17, 1, (uint64_t)_i, from};
    tutti_tensor to[2] = {{out, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0},
                          {less, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0}};
    for (uint32_t k = 0; k < 2; k++)
        ck_assert_int_eq(b.table->apply(b.subject.self, &sample, k, &from[k], &to[k], &b.err),
                         1);
    ck_assert(tutti_same_shape(&to[1].desc, &columns[MAP].desc));
    for (int k = 0; k < 6 * 5; k++)
        ck_assert_int_eq(out[k * C], less[k]);
    subject_close(&b.subject);
}
END_TEST

START_TEST(targets_of_samples_stay_or_must_be_there)
{
    bench b;
    tutti_column columns[COLUMNS];
    tutti_desc alone = told[0];
    open_resizing(&b, "false", 2);
    ck_assert_ok(infer_told(&b, columns), b.err);
    ck_assert(columns[0].desc.dim[0] == 6 && columns[MAP].desc.dim[0] == H &&
              columns[VECTORS].desc.dim[1] == W);
    subject_close(&b.subject);
    open_resizing(&b, "true", 1);
    ck_assert_ok(infer_told(&b, columns), b.err);
    ck_assert_int_eq(bench_infer(&b, &alone), TUTTI_E_SHAPE);
    ck_assert_str_eq(b.err.text, "colout_transform: resize_target is true, want a column of "
                                 "the images' height and width to resize");
    subject_close(&b.subject);
}
END_TEST

enum { LEFT = 6 * 5 };

/* Column `column` of a batch of B samples by the kernel is what apply makes of each. */
static void batch_is_its_samples(bench *b, uint32_t column, uint8_t *in, uint8_t *out,
                                 uint64_t pixel)
{
    static const int64_t index[B] = {5, 0, 77};
    uint8_t one[LEFT * C * sizeof(int32_t)];
    tutti_tensor batch[2], to = {out, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0}, from[2], alone = to;
    for (int k = 0; k < 2; k++) {
        const int64_t *d = told[k].dim;
        from[k] = (tutti_tensor){in, told[k], TUTTI_DEVICE_CPU, 0};
        batch[k] = (tutti_tensor){
            in, {{B, d[0], d[1], d[2]}, told[k].rank + 1, told[k].dtype}, TUTTI_DEVICE_CPU, 0};
    }
    const tutti_samples samples = {sizeof samples, 2, 17, 3, index, batch};
    ck_assert_int_eq(
        b->table->apply_batch(b->subject.self, &samples, column, &batch[column], &to, &b->err),
        1);
    ck_assert(to.desc.dim[0] == B && to.desc.dim[1] == 6 && to.desc.dim[2] == 5);
    alone.data = one;
    for (int k = 0; k < B; k++) {
        const tutti_sample sample = {sizeof sample, 2, 17, 3, (uint64_t)index[k], from};
        from[column].data = in + (uint64_t)k * H * W * pixel;
        ck_assert_int_eq(
            b->table->apply(b->subject.self, &sample, column, &from[column], &alone, &b->err),
            1);
        ck_assert_mem_eq(one, out + (uint64_t)k * LEFT * pixel, LEFT * pixel);
    }
}

START_TEST(a_batch_of_samples_is_each_of_them)
{
    uint8_t in[B * H * W * C], out[B * LEFT * C];
    int32_t map[B * H * W], less[B * LEFT];
    bench b;
    for (int k = 0; k < B * H * W * C; k++)
        in[k] = (uint8_t)(k * 7);
    for (int k = 0; k < B * H * W; k++)
        map[k] = k;
    open_resizing(&b, "auto", 0);
    batch_is_its_samples(&b, 0, in, out, C);
    batch_is_its_samples(&b, MAP, (uint8_t *)map, (uint8_t *)less, sizeof *map);
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
    tcase_add_loop_test(t, what_has_the_pixels_of_an_image_loses_the_same_rows_and_columns, 0,
                        5);
    tcase_add_test(t, targets_of_samples_stay_or_must_be_there);
    tcase_add_test(t, a_batch_of_samples_is_each_of_them);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
