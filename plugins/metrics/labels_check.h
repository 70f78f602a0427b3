/* labels_check.h - tests a metric over labels: against torchmetrics' answers, and what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LABELS_CHECK_H
#define LABELS_CHECK_H

#include "metric_check.h"

/* Rows of 4 labels, of which the last is never a target; every eleventh target is ignored. */
enum { LABEL_ROWS = 50, LABEL_COUNT = 4, LABEL_ALL = LABEL_ROWS * LABEL_COUNT };

static double label_threshold = 0.5; /* of the next metric */

static inline uint32_t label_number(uint32_t a)
{
    uint32_t x = a * 2654435761u + 12345u;
    x ^= x >> 13;
    return (x * 1597334677u) >> 16;
}

static inline void label_fill(float *x, float *y)
{
    for (uint32_t k = 0; k < LABEL_ALL; k++) {
        const uint32_t column = k % LABEL_COUNT;
        const int one = column < 3 && label_number(3000 + k) % 10 < 2 + 2 * column;
        y[k] = k % 11 == 7 ? -100.0f : (float)one;
        x[k] = (float)(label_number(k) % 1000) / 200.0f - 3.0f + (one ? 1.5f : 0.0f);
    }
}

/* "average" by its word; `label` -1: of all. */
static inline void label_given(test_settings *g, const char *average, int64_t label)
{
    test_settings_init(g);
    test_settings_int(g, "num_labels", LABEL_COUNT);
    test_settings_enum(g, "average", average,
                       average[1] == 'a'   ? 0
                       : average[1] == 'i' ? 1
                                           : 2);
    test_settings_int(g, "ignore_index", -100);
    test_settings_float(g, "threshold", label_threshold);
    test_settings_int(g, "thresholds", 20);
    test_settings_null(g, "label");
    if (label >= 0)
        test_settings_int(g, "label", label);
}

/* The metric of these rows in two batches. */
static inline double label_value(const char *name, const char *average, int64_t label)
{
    static float x[LABEL_ALL], y[LABEL_ALL];
    const int64_t first = 23;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    gauge m;
    label_fill(x, y);
    label_given(&g, average, label);
    gauge_open(&m, name, &g);
    for (int half = 0; half < 2; half++) {
        const int64_t at = half ? first * LABEL_COUNT : 0,
                      rows = half ? LABEL_ROWS - first : first;
        ck_assert_ok(gauge_feed(&m, gauge_tensor(x + at, TUTTI_F32, 2, rows, LABEL_COUNT),
                                gauge_tensor(y + at, TUTTI_F32, 2, rows, LABEL_COUNT), &err),
                     err);
    }
    const double value = gauge_read(&m);
    m.table->reset(m.subject.self);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
    return value;
}

/* macro, micro, weighted, then each label by itself. */
static inline void label_values(const char *name, const double *want)
{
    static const char *const averages[] = {"macro", "micro", "weighted"};
    for (int k = 0; k < 3 + LABEL_COUNT; k++)
        ck_assert_close(label_value(name, averages[k < 3 ? k : 0], k < 3 ? -1 : k - 3), want[k],
                        1e-6); /* torchmetrics answers in f32 */
}

/* macro, at thresholds of 0.3 and 0.8. */
static inline void label_values_at(const char *name, double low, double high)
{
    label_threshold = 0.3;
    ck_assert_close(label_value(name, "macro", -1), low, 1e-6);
    label_threshold = 0.8;
    ck_assert_close(label_value(name, "macro", -1), high, 1e-6);
    label_threshold = 0.5;
}

static inline void label_refusals(const char *name)
{
    static const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, half[8] = {0, 1, 0, 1, 0.5f};
    static const int64_t classes[2] = {0, 1};
    tutti_error shape = TUTTI_ERROR_INIT, range = TUTTI_ERROR_INIT;
    char want[320];
    test_settings g;
    gauge m;
    label_given(&g, "macro", -1);
    gauge_open(&m, name, &g);
    ck_assert_int_eq(gauge_feed(&m, gauge_tensor(x, TUTTI_F32, 2, 2, 4),
                                gauge_tensor(classes, TUTTI_I64, 1, 2, 0), &shape),
                     TUTTI_E_SHAPE);
    (void)snprintf(
        want, sizeof want,
        "%s: outputs are F32 (2, 4) and targets I64 (2), want F32 (B, 4) and numbers "
        "of that shape; of classes accuracy, f1_score or cross_entropy fits these",
        name);
    ck_assert_error(shape, TUTTI_E_SHAPE, want);
    ck_assert_int_eq(gauge_feed(&m, gauge_tensor(x, TUTTI_F32, 2, 2, 4),
                                gauge_tensor(half, TUTTI_F32, 2, 2, 4), &range),
                     TUTTI_E_RANGE);
    (void)snprintf(want, sizeof want, "%s: target 4 is 0.5, want 0 or 1", name);
    ck_assert_error(range, TUTTI_E_RANGE, want);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
    label_given(&g, "macro", LABEL_COUNT);
    (void)snprintf(want, sizeof want, "%s: label is 4, num_labels is 4", name);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_METRIC, name, &g, TUTTI_E_RANGE, want);
}

#endif
