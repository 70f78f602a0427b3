/* confusion_matrix_test.c - the metric through its entry function: its table against torchmetrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* log_table */
#include "../class_counts_check.h"
#include "tutti/metrics.h"

enum { CELLS = COUNTS_CLASSES * COUNTS_CLASSES };

static double told[CELLS]; /* the table that was logged last */
static int tables;

static tutti_status take_table(void *ctx, const tutti_table *table, tutti_error *err)
{
    (void)ctx, (void)err;
    ck_assert_str_eq(table->name, "confusion_matrix/eval");
    ck_assert_uint_eq(table->ncolumns, COUNTS_CLASSES + 1);
    ck_assert_uint_eq(table->nrows, COUNTS_CLASSES);
    ck_assert_str_eq(table->columns[0], "target");
    ck_assert_str_eq(table->columns[COUNTS_CLASSES], "5");
    for (int k = 0; k < CELLS; k++) {
        const char *const *row = table->cells + k / COUNTS_CLASSES * (COUNTS_CLASSES + 1);
        ck_assert_int_eq(strtol(row[0], NULL, 10), k / COUNTS_CLASSES);
        told[k] = strtod(row[1 + k % COUNTS_CLASSES], NULL);
    }
    tables++;
    return TUTTI_OK;
}

static void open_matrix(gauge *m, const char *normalize, int which)
{
    static const tutti_metrics_v1 metrics = {.struct_size = sizeof metrics,
                                             .log_table = take_table};
    static const service services[] = {{TUTTI_METRICS_V1, &metrics}, {NULL, NULL}};
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    test_settings_init(&g);
    test_settings_int(&g, "num_classes", COUNTS_CLASSES);
    test_settings_enum(&g, "normalize", normalize, which);
    test_settings_int(&g, "ignore_index", -100);
    ck_assert_ok(subject_open(&m->subject, PLUGIN_PATH, TUTTI_KIND_METRIC, "confusion_matrix",
                              &g, services, &err),
                 err);
    m->table = (const tutti_metric_v1 *)subject_query(&m->subject, TUTTI_METRIC_V1);
}

/* torchmetrics 1.9.0, by tests/peers/metrics.py: target by prediction */
static const char *const how[] = {"none", "true", "pred", "all"};
static const double want[][COUNTS_CLASSES][COUNTS_CLASSES] = {
    {{3, 3, 1, 0, 0, 0},
     {3, 0, 0, 1, 0, 0},
     {1, 2, 7, 0, 1, 0},
     {4, 1, 2, 5, 2, 0},
     {2, 4, 2, 3, 5, 0},
     {0, 0, 0, 0, 0, 0}},
    {{0.428571433, 0.428571433, 0.142857149, 0, 0, 0},
     {0.75, 0, 0, 0.25, 0, 0},
     {0.0909090936, 0.181818187, 0.636363626, 0, 0.0909090936, 0},
     {0.285714298, 0.0714285746, 0.142857149, 0.357142866, 0.142857149, 0},
     {0.125, 0.25, 0.125, 0.1875, 0.3125, 0},
     {0, 0, 0, 0, 0, 0}},
    {{0.230769232, 0.300000012, 0.0833333358, 0, 0, 0},
     {0.230769232, 0, 0, 0.111111112, 0, 0},
     {0.0769230798, 0.200000003, 0.583333313, 0, 0.125, 0},
     {0.307692319, 0.100000001, 0.166666672, 0.555555582, 0.25, 0},
     {0.15384616, 0.400000006, 0.166666672, 0.333333343, 0.625, 0},
     {0, 0, 0, 0, 0, 0}},
    {{0.057692308, 0.057692308, 0.0192307699, 0, 0, 0},
     {0.057692308, 0, 0, 0.0192307699, 0, 0},
     {0.0192307699, 0.0384615399, 0.134615391, 0, 0.0192307699, 0},
     {0.0769230798, 0.0192307699, 0.0384615399, 0.0961538479, 0.0384615399, 0},
     {0.0384615399, 0.0769230798, 0.0384615399, 0.057692308, 0.0961538479, 0},
     {0, 0, 0, 0, 0, 0}},
};

START_TEST(tables_are_those_of_torchmetrics)
{
    static float x[COUNTS_ROWS * COUNTS_CLASSES];
    static int64_t y[COUNTS_ROWS];
    gauge m;
    counts_fill(x, y);
    open_matrix(&m, how[_i], _i);
    ck_assert(isnan(gauge_read(&m)));
    ck_assert_int_eq(tables, 0); /* nothing was gathered */
    gauge_add(&m, x, y, 23, COUNTS_CLASSES);
    gauge_add(&m, x + 23 * COUNTS_CLASSES, y + 23, COUNTS_ROWS - 23, COUNTS_CLASSES);
    ck_assert_close(gauge_read(&m), 0.384615391, 1e-7);
    ck_assert_int_eq(tables, 1);
    for (int k = 0; k < CELLS; k++)
        ck_assert_close(told[k], want[_i][k / COUNTS_CLASSES][k % COUNTS_CLASSES], 1e-7);
    subject_close(&m.subject);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    counts_refusals("confusion_matrix");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("confusion_matrix");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, tables_are_those_of_torchmetrics, 0, 4);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    return tutti_run(suite);
}
