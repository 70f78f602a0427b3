/* metric_check.h - feeds a metric plugin batches of logits and targets. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRIC_CHECK_H
#define METRIC_CHECK_H

#include "plugin_check.h"
#include "tutti/metric.h"

#include <stdio.h>

typedef struct gauge {
    subject subject;
    const tutti_metric_v1 *table;
} gauge;

static inline void gauge_open(gauge *m, const char *name, const test_settings *g)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(subject_open(&m->subject, PLUGIN_PATH, TUTTI_KIND_METRIC, name, g, NULL, &err),
                 err);
    m->table = (const tutti_metric_v1 *)subject_query(&m->subject, TUTTI_METRIC_V1);
    ck_assert_str_eq(m->table->name, name);
    ck_assert(isnan(m->table->compute(m->subject.self)));
}

static inline tutti_tensor gauge_tensor(const void *data, int32_t dtype, int32_t rank,
                                        int64_t d0, int64_t d1)
{
    const tutti_tensor t = {
        .data = (void *)data,
        .desc = {.dim = {d0, rank > 1 ? d1 : 0}, .rank = rank, .dtype = dtype},
        .device = TUTTI_DEVICE_CPU};
    return t;
}

static inline tutti_status gauge_feed(gauge *m, tutti_tensor outputs, tutti_tensor targets,
                                      tutti_error *err)
{
    const tutti_metric_input in = {.struct_size = (uint32_t)sizeof in,
                                   .noutputs = 1,
                                   .outputs = &outputs,
                                   .targets = &targets,
                                   .ntargets = 1,
                                   .samples = outputs.desc.dim[0]};
    return m->table->update(m->subject.self, &in, err);
}

/* B rows of N logits with I64 classes. */
static inline void gauge_add(gauge *m, const float *x, const int64_t *y, int64_t b, int64_t n)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(gauge_feed(m, gauge_tensor(x, TUTTI_F32, 2, b, n),
                            gauge_tensor(y, TUTTI_I64, 1, b, 0), &err),
                 err);
}

/* The same as a map: B images of H x W rows of N logits, and I64 classes (B, H, W). */
static inline void gauge_add_map(gauge *m, const float *x, const int64_t *y, int64_t b,
                                 int64_t h, int64_t w, int64_t n)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor outputs = gauge_tensor(x, TUTTI_F32, 2, b, n);
    tutti_tensor targets = gauge_tensor(y, TUTTI_I64, 1, b, 0);
    outputs.desc = (tutti_desc){{b, h, w, n}, 4, TUTTI_F32};
    targets.desc = (tutti_desc){{b, h, w}, 3, TUTTI_I64};
    ck_assert_ok(gauge_feed(m, outputs, targets, &err), err);
}

static inline double gauge_read(gauge *m)
{
    return m->table->compute(m->subject.self);
}

/* What all metrics over logits refuse; the sums stay as they were. */
static inline void gauge_refusals(const char *name, const test_settings *g)
{
    static const float x[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t y[3] = {0, 3, 0};
    char want[504];
    gauge m;
    gauge_open(&m, name, g);
    tutti_error shape = TUTTI_ERROR_INIT, range = TUTTI_ERROR_INIT, none = TUTTI_ERROR_INIT;

    ck_assert_int_eq(gauge_feed(&m, gauge_tensor(x, TUTTI_F32, 2, 2, 3),
                                gauge_tensor(y, TUTTI_I64, 1, 3, 0), &shape),
                     TUTTI_E_SHAPE);
    (void)snprintf(
        want, sizeof want,
        "%s: outputs are F32 (2, 3) and targets I64 (3), want F32 (B, N) and I32 or "
        "I64 (B), or F32 (B, N); loss alone fits these: the model wants another head, or the "
        "data another target",
        name);
    ck_assert_error(shape, TUTTI_E_SHAPE, want);

    ck_assert_int_eq(gauge_feed(&m, gauge_tensor(x, TUTTI_F32, 2, 2, 3),
                                gauge_tensor(y, TUTTI_I64, 1, 2, 0), &range),
                     TUTTI_E_RANGE);
    (void)snprintf(want, sizeof want, "%s: target 1 is class 3, want 0 to 2", name);
    ck_assert_error(range, TUTTI_E_RANGE, want);

    const tutti_metric_input empty = {.struct_size = (uint32_t)sizeof empty};
    ck_assert_int_eq(m.table->update(m.subject.self, &empty, &none), TUTTI_E_ARG);
    (void)snprintf(want, sizeof want, "%s: got 0 outputs and 0 targets, want one of each",
                   name);
    ck_assert_error(none, TUTTI_E_ARG, want);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
}

#endif
