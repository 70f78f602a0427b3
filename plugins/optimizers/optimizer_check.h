/* optimizer_check.h - drills an optimizer plugin: steps over made-up weights, cut anywhere. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPTIMIZER_CHECK_H
#define OPTIMIZER_CHECK_H

#include "plugin_check.h"
#include "tutti/half.h"
#include "tutti/optimizer.h"

enum { DRILL_N = 67, DRILL_STEPS = 12 };

typedef struct drill {
    subject subject;
    const tutti_optimizer_v1 *table;
    float w[DRILL_N];
    float slot[TUTTI_OPTIMIZER_MAX_SLOTS][DRILL_N];
    uint16_t low[DRILL_N]; /* of low_dtype, where that is not 0 */
    int32_t low_dtype;
    int32_t reserved;
} drill;

/* A number in [-1, 1) that depends on its arguments alone. */
static inline float drill_number(uint32_t a, uint32_t b)
{
    uint32_t x = a * 2654435761u + b * 40503u + 12345u;
    x ^= x >> 13;
    x *= 1597334677u;
    x ^= x >> 16;
    return (float)(x >> 8) / 8388608.0f - 1.0f;
}

static inline float drill_gradient(int64_t step, int64_t i)
{
    return drill_number((uint32_t)i, (uint32_t)step);
}

static inline void drill_open(drill *d, const char *name, const given *g, uint32_t nslots)
{
    tutti_error err = TUTTI_ERROR_INIT;
    memset(d, 0, sizeof *d);
    ck_assert_ok(
        subject_open(&d->subject, PLUGIN_PATH, TUTTI_KIND_OPTIMIZER, name, g, NULL, &err), err);
    d->table = (const tutti_optimizer_v1 *)subject_query(&d->subject, TUTTI_OPTIMIZER_V1);
    ck_assert_uint_eq(d->table->nslots, nslots);
    for (uint32_t k = 0; k < nslots; k++)
        ck_assert_ptr_nonnull(d->table->slot_names[k]);
    for (int64_t i = 0; i < DRILL_N; i++)
        d->w[i] = drill_number((uint32_t)i, 1000);
}

/* Rate of step t (from 1): a schedule that moves, so that decays that follow it show. */
static inline double drill_rate(const drill *d, int64_t t)
{
    return d->table->lr * (1.0 - 0.05 * (double)(t - 1));
}

/* DRILL_STEPS steps, each in two stretches cut at `cut`. */
static inline void drill_run(drill *d, int64_t cut)
{
    float g[DRILL_N];
    for (int64_t t = 1; t <= DRILL_STEPS; t++) {
        for (int64_t i = 0; i < DRILL_N; i++)
            g[i] = drill_gradient(t, i);
        for (int half = 0; half < 2; half++) {
            const int64_t from = half ? cut : 0, to = half ? DRILL_N : cut;
            tutti_update u = {.struct_size = (uint32_t)sizeof u,
                              .n = to - from,
                              .w = d->w + from,
                              .g = g + from,
                              .lr = drill_rate(d, t),
                              .lr_initial = d->table->lr,
                              .step = t,
                              .low = d->low_dtype ? d->low + from : NULL,
                              .low_dtype = d->low_dtype};
            for (uint32_t k = 0; k < d->table->nslots; k++)
                u.slot[k] = d->slot[k] + from;
            d->table->update(d->subject.self, &u);
        }
    }
}

/* The plugin's weights against `want` in f64.  2e-6: twelve steps of f32 on numbers below 2, where a
 * rounding is 1e-7. */
static inline void drill_compare(const drill *d, const double *want)
{
    for (int64_t i = 0; i < DRILL_N; i++)
        ck_assert_close(d->w[i], want[i], 2e-6);
}

/* With a copy in 16 bits weights and state are the same, and the copy is theirs rounded.  Nothing is
 * written where no copy is wanted. */
static inline void drill_low(const char *name, const given *g, uint32_t nslots)
{
    static const int32_t dtypes[] = {TUTTI_BF16, TUTTI_F16};
    drill plain, with;
    drill_open(&plain, name, g, nslots);
    ck_assert_uint_eq(plain.table->writes_low, 1);
    drill_run(&plain, 5);
    for (int64_t i = 0; i < DRILL_N; i++)
        ck_assert_uint_eq(plain.low[i], 0);
    for (int k = 0; k < 2; k++) {
        drill_open(&with, name, g, nslots);
        with.low_dtype = dtypes[k];
        drill_run(&with, 5);
        ck_assert_mem_eq(with.w, plain.w, sizeof with.w);
        ck_assert_mem_eq(with.slot, plain.slot, sizeof with.slot);
        for (int64_t i = 0; i < DRILL_N; i++)
            ck_assert_uint_eq(with.low[i], tutti_to_half(with.w[i], dtypes[k]));
        subject_close(&with.subject);
    }
    subject_close(&plain.subject);
}

/* Weights and state must be the same bits wherever a stretch is cut. */
static inline void drill_cuts(const char *name, const given *g, uint32_t nslots)
{
    drill whole, cut;
    drill_open(&whole, name, g, nslots);
    drill_run(&whole, 0);
    for (int64_t k = 1; k < DRILL_N; k++) {
        drill_open(&cut, name, g, nslots);
        drill_run(&cut, k);
        ck_assert_mem_eq(cut.w, whole.w, sizeof cut.w);
        ck_assert_mem_eq(cut.slot, whole.slot, sizeof cut.slot);
        subject_close(&cut.subject);
    }
    subject_close(&whole.subject);
}

#endif
