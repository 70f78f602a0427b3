/* label_smoothing_test.c - what label_smoothing does to targets, and that it undoes it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"

static run r;
static subject s;
static tutti_error err;

static void open_with(double smoothing)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_float(&g, "smoothing", smoothing);
    memset(&err, 0, sizeof err);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "label_smoothing", &g,
                              r.services, &err),
                 err);
}

static const double amounts[] = {0.0, 0.1, 0.5, 0.9, 1.0};

/* _i counts amounts, classes (2, 10), index or one-hot targets, rank 2 or 4. */
START_TEST(targets_become_the_weighted_mean_with_uniform)
{
    const double smoothing = amounts[_i % 5];
    const int64_t classes = _i / 5 % 2 ? 10 : 2, inner = _i / 20 % 2 ? 6 : 1, n = 3 * inner;
    const int dense = _i / 10 % 2;
    float outputs[180] = {0}, soft[180] = {0};
    int64_t labels[18];
    for (int64_t k = 0; k < n; k++) {
        labels[k] = (k * 7 + 1) % classes;
        soft[k * classes + labels[k]] = 1.0f;
    }
    const tutti_desc flat = inner > 1 ? shape(TUTTI_I64, 3, 2, 3) : shape(TUTTI_I64, 3);
    const tutti_desc full =
        inner > 1 ? shape(TUTTI_F32, 3, 2, 3, classes) : shape(TUTTI_F32, 3, classes);
    run_init(&r);
    run_kernels(&r);
    run_column(&r, "target", dense ? full : flat, dense ? (void *)soft : (void *)labels);
    run_column(&r, "outputs", full, outputs);
    open_with(smoothing);

    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BEFORE_LOSS, &err), 1);
    ck_assert_str_eq(err.text, "");
    ck_assert(tutti_same_shape(&r.columns[0].desc, &full));
    ck_assert_int_eq(r.columns[0].desc.dtype, TUTTI_F32);
    for (int64_t k = 0; k < n * classes; k++) {
        const double y = labels[k / classes] == k % classes;
        ck_assert_close(((const float *)r.columns[0].data)[k],
                        y * (1.0 - smoothing) + smoothing / (double)classes, 1e-6);
    }
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_AFTER_LOSS, &err), 1);
    const tutti_desc *before = dense ? &full : &flat;
    ck_assert(tutti_same_shape(&r.columns[0].desc, before));
    ck_assert_int_eq(r.columns[0].desc.dtype, before->dtype);
    ck_assert_mem_eq(r.columns[0].data, dense ? (void *)soft : (void *)labels,
                     tutti_nbytes(before));
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_AFTER_LOSS, &err), 0);
    subject_close(&s);
}
END_TEST

/* Class -100 counts in no loss: nothing is spread over its row.  Also where targets are soft already. */
START_TEST(rows_that_do_not_count_stay_empty)
{
    int32_t labels[2] = {-100, 2};
    float outputs[6] = {0}, soft[6] = {0, 0, 0, 0, 0, 1};
    run_init(&r);
    run_kernels(&r);
    run_column(&r, "target", _i ? shape(TUTTI_F32, 2, 3) : shape(TUTTI_I32, 2),
               _i ? (void *)soft : (void *)labels);
    run_column(&r, "outputs", shape(TUTTI_F32, 2, 3), outputs);
    open_with(0.3);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BEFORE_LOSS, &err), 1);
    ck_assert_str_eq(err.text, "");
    static const double want[6] = {0, 0, 0, 0.1, 0.1, 0.8};
    for (int k = 0; k < 6; k++)
        ck_assert_close(((const float *)r.columns[0].data)[k], want[k], 1e-6);
    subject_close(&s);
}
END_TEST

START_TEST(a_class_that_is_none_is_refused)
{
    int32_t labels[2] = {1, 3};
    float outputs[6] = {0};
    run_init(&r);
    run_kernels(&r);
    run_column(&r, "target", shape(TUTTI_I32, 2), labels);
    run_column(&r, "outputs", shape(TUTTI_F32, 2, 3), outputs);
    open_with(0.1);
    (void)run_event(&r, &s, TUTTI_EVENT_BEFORE_LOSS, &err);
    ck_assert_error(err, TUTTI_E_RANGE, "label_smoothing: a target is class 3, want 0 to 2");
    ck_assert_ptr_eq(r.columns[0].data, labels);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_AFTER_LOSS, &err), 0);
    subject_close(&s);
}
END_TEST

START_TEST(targets_of_another_shape_are_refused)
{
    int32_t labels[4] = {0};
    float outputs[6] = {0};
    run_init(&r);
    run_kernels(&r);
    run_column(&r, "target", shape(TUTTI_I32, 4), labels);
    run_column(&r, "outputs", shape(TUTTI_F32, 2, 3), outputs);
    open_with(0.1);
    (void)run_event(&r, &s, TUTTI_EVENT_BEFORE_LOSS, &err);
    ck_assert_error(err, TUTTI_E_SHAPE,
                    "label_smoothing: the target is I32 (4) and the outputs are F32 (2, 3), "
                    "want classes for all but the last dimension or F32 of the same shape");
    subject_close(&s);
}
END_TEST

START_TEST(a_host_without_views_is_refused)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_float(&g, "smoothing", 0.1);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "label_smoothing", &g,
                           TUTTI_E_UNSUPPORTED,
                           "label_smoothing: this host has no tutti.device_view/1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("label_smoothing");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, targets_become_the_weighted_mean_with_uniform, 0, 40);
    tcase_add_loop_test(t, rows_that_do_not_count_stay_empty, 0, 2);
    tcase_add_test(t, a_class_that_is_none_is_refused);
    tcase_add_test(t, targets_of_another_shape_are_refused);
    tcase_add_test(t, a_host_without_views_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
