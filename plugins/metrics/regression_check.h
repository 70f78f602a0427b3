/* regression_check.h - pairs of numbers that a test and tests/peers/metrics.py both make. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REGRESSION_CHECK_H
#define REGRESSION_CHECK_H

#include "metric_check.h"

enum { PAIR_ROWS = 40, PAIR_OUTPUTS = 3 };

static inline uint32_t pair_number(uint32_t a)
{
    uint32_t x = a * 2654435761u + 12345u;
    x ^= x >> 13;
    return (x * 1597334677u) >> 16;
}

/* Targets y and outputs x that follow them, (PAIR_ROWS, PAIR_OUTPUTS). */
static inline void pair_fill(float *x, float *y)
{
    for (uint32_t k = 0; k < PAIR_ROWS * PAIR_OUTPUTS; k++) {
        y[k] = (float)(pair_number(k) % 1000u) / 100.0f - (float)(k % PAIR_OUTPUTS);
        x[k] = y[k] * 0.75f + (float)(pair_number(5000u + k) % 1000u) / 400.0f;
    }
}

/* The metric of the settings over all rows in two batches, or of the first column alone, as (B, 1) against (B). */
static inline double pair_value(const char *name, const test_settings *g, int one)
{
    static float x[PAIR_ROWS * PAIR_OUTPUTS], y[PAIR_ROWS * PAIR_OUTPUTS];
    const int64_t n = one ? 1 : PAIR_OUTPUTS, first = 23;
    tutti_error err = TUTTI_ERROR_INIT;
    gauge m;
    pair_fill(x, y);
    for (int k = 0; one && k < PAIR_ROWS; k++) {
        x[k] = x[k * PAIR_OUTPUTS];
        y[k] = y[k * PAIR_OUTPUTS];
    }
    gauge_open(&m, name, g);
    for (int half = 0; half < 2; half++) {
        const int64_t at = half ? first * n : 0, rows = half ? PAIR_ROWS - first : first;
        ck_assert_ok(gauge_feed(&m, gauge_tensor(x + at, TUTTI_F32, 2, rows, n),
                                gauge_tensor(y + at, TUTTI_F32, one ? 1 : 2, rows, n), &err),
                     err);
    }
    const double value = gauge_read(&m);
    m.table->reset(m.subject.self);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
    return value;
}

/* Classes against rows of outputs are no pairs; the sums stay as they were. */
static inline void pair_refusals(const char *name, const test_settings *g)
{
    static const float x[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t y[3] = {0, 1, 0};
    char want[504];
    tutti_error err = TUTTI_ERROR_INIT;
    gauge m;
    gauge_open(&m, name, g);
    ck_assert_int_eq(gauge_feed(&m, gauge_tensor(x, TUTTI_F32, 2, 3, 2),
                                gauge_tensor(y, TUTTI_I64, 1, 3, 0), &err),
                     TUTTI_E_SHAPE);
    (void)snprintf(want, sizeof want,
                   "%s: outputs are F32 (3, 2) and targets I64 (3), want F32 and numbers of "
                   "one shape; of classes accuracy, f1_score or cross_entropy fits "
                   "these",
                   name);
    ck_assert_error(err, TUTTI_E_SHAPE, want);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
}

#endif
