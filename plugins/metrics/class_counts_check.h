/* class_counts_check.h - tests a metric over class counts: against torchmetrics' answers, and what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLASS_COUNTS_CHECK_H
#define CLASS_COUNTS_CHECK_H

#include "metric_check.h"

/* Rows of 6 classes, of which the last is never a target nor a prediction; every seventh target is ignored. */
enum { COUNTS_ROWS = 60, COUNTS_CLASSES = 6 };

/* A number in [0, 2^16) that depends on its argument alone. */
static inline uint32_t counts_number(uint32_t a)
{
    uint32_t x = a * 2654435761u + 12345u;
    x ^= x >> 13;
    x *= 1597334677u;
    return x >> 16;
}

static inline void counts_fill(float *x, int64_t *y)
{
    for (uint32_t r = 0; r < COUNTS_ROWS; r++) {
        const uint32_t class_index = counts_number(1000 + r) % (COUNTS_CLASSES - 1);
        y[r] = r % 7 == 6 ? -100 : (int64_t)class_index;
        for (uint32_t c = 0; c < COUNTS_CLASSES; c++)
            x[r * COUNTS_CLASSES + c] =
                (float)(counts_number(r * COUNTS_CLASSES + c) % 1000) / 250.0f;
        x[r * COUNTS_CLASSES + class_index] += 1.0f;
        x[r * COUNTS_CLASSES + COUNTS_CLASSES - 1] = -9.0f;
    }
}

/* The metric's value for these rows, in two batches, with that "average" (NULL: it has none); the same rows as the
 * pixels of three images give the same. */
static inline double counts_value_of(const char *name, const char *average, int64_t top_k,
                                     int64_t one)
{
    static float x[COUNTS_ROWS * COUNTS_CLASSES];
    static int64_t y[COUNTS_ROWS];
    const int64_t first = 23;
    test_settings g;
    gauge m;
    counts_fill(x, y);
    test_settings_init(&g);
    test_settings_int(&g, "num_classes", COUNTS_CLASSES);
    test_settings_int(&g, "ignore_index", -100);
    test_settings_int(&g, "top_k", top_k);
    test_settings_null(&g, "class");
    if (one >= 0)
        test_settings_int(&g, "class", one);
    if (average)
        test_settings_enum(&g, "average", average,
                           average[1] == 'a'   ? 0
                           : average[1] == 'i' ? 1
                                               : 2);
    gauge_open(&m, name, &g);
    gauge_add(&m, x, y, first, COUNTS_CLASSES);
    gauge_add(&m, x + first * COUNTS_CLASSES, y + first, COUNTS_ROWS - first, COUNTS_CLASSES);
    const double value = gauge_read(&m);
    m.table->reset(m.subject.self);
    ck_assert(isnan(gauge_read(&m)));
    gauge_add_map(&m, x, y, 3, 4, COUNTS_ROWS / 12, COUNTS_CLASSES);
    ck_assert_double_eq(gauge_read(&m), value);
    subject_close(&m.subject);
    return value;
}

static inline double counts_value_at(const char *name, const char *average, int64_t top_k)
{
    return counts_value_of(name, average, top_k, -1);
}

/* The values of single classes, and what is no class. */
static inline void counts_of_each(const char *name, const double want[COUNTS_CLASSES])
{
    char text[120];
    test_settings g;
    for (int k = 0; k < COUNTS_CLASSES; k++)
        ck_assert_close(counts_value_of(name, "macro", 1, k), want[k], 1e-6);
    test_settings_init(&g);
    test_settings_int(&g, "num_classes", 3);
    test_settings_enum(&g, "average", "macro", 0);
    test_settings_int(&g, "class", 3);
    (void)snprintf(text, sizeof text, "%s: class is 3, num_classes is 3", name);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_METRIC, name, &g, TUTTI_E_RANGE, text);
}

static inline double counts_value(const char *name, const char *average)
{
    return counts_value_at(name, average, 1);
}

/* The values for the two largest logits: macro, micro, weighted. */
static inline void counts_of_two(const char *name, const double want[3])
{
    static const char *const averages[] = {"macro", "micro", "weighted"};
    for (int k = 0; k < 3; k++)
        ck_assert_close(counts_value_at(name, averages[k], 2), want[k], 1e-6);
}

static inline void counts_refusals(const char *name)
{
    static const float x[4] = {1, 2, 3, 4};
    static const int64_t y[2] = {0, 1};
    tutti_error err = TUTTI_ERROR_INIT;
    char want[160];
    test_settings g;
    gauge m;
    test_settings_init(&g);
    test_settings_int(&g, "num_classes", 3);
    test_settings_enum(&g, "average", "macro", 0);
    gauge_refusals(name, &g);
    gauge_open(&m, name, &g);
    ck_assert_int_eq(gauge_feed(&m, gauge_tensor(x, TUTTI_F32, 2, 2, 2),
                                gauge_tensor(y, TUTTI_I64, 1, 2, 0), &err),
                     TUTTI_E_SHAPE);
    (void)snprintf(want, sizeof want, "%s: outputs have 2 classes, num_classes is 3", name);
    ck_assert_error(err, TUTTI_E_SHAPE, want);
    subject_close(&m.subject);
}

#endif
