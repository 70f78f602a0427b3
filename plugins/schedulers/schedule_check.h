/* schedule_check.h - asks a schedule plugin for its factor at points of a made-up run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHEDULE_CHECK_H
#define SCHEDULE_CHECK_H

#include "plugin_check.h"
#include "tutti/scheduler.h"

/* A run of `max_duration` with 10 samples a batch. */
typedef struct course {
    subject subject;
    const tutti_scheduler_v1 *table;
    tutti_time max_duration; /* before scale_ratio */
    int64_t dataloader_len;
    double scale_ratio;
} course;

static inline tutti_time course_time(int64_t count, int32_t unit)
{
    const tutti_time t = {count, 0.0, unit, 0};
    return t;
}

/* The schedule `name` of the plugin under test in a run of 10 epochs of 100 batches. */
static inline void course_open(course *c, const char *path, const char *name,
                               const test_settings *g, const service *services)
{
    tutti_error err = TUTTI_ERROR_INIT;
    memset(c, 0, sizeof *c);
    ck_assert_ok(subject_open(&c->subject, path, TUTTI_KIND_SCHEDULER, name, g, services, &err),
                 err);
    c->table = (const tutti_scheduler_v1 *)subject_query(&c->subject, TUTTI_SCHEDULER_V1);
    c->max_duration = course_time(10, TUTTI_UNIT_EPOCH);
    c->dataloader_len = 100;
    c->scale_ratio = 1.0;
}

static inline tutti_status course_ask(const course *c, int64_t batch, double *ret,
                                      tutti_error *err)
{
    tutti_timestamp now = {.struct_size = (uint32_t)sizeof now,
                           .epoch = c->dataloader_len > 0 ? batch / c->dataloader_len : 0,
                           .batch = batch,
                           .sample = batch * 10};
    tutti_schedule s = {.struct_size = (uint32_t)sizeof s,
                        .now = &now,
                        .max_duration = c->max_duration,
                        .dataloader_len = c->dataloader_len,
                        .scale_ratio = c->scale_ratio};
    s.max_duration.count = (int64_t)((double)s.max_duration.count * c->scale_ratio);
    return c->table->multiplier(c->subject.self, &s, ret, err);
}

static inline double course_at(const course *c, int64_t batch)
{
    tutti_error err = TUTTI_ERROR_INIT;
    double factor = NAN;
    ck_assert_ok(course_ask(c, batch, &factor, &err), err);
    return factor;
}

/* 1e-12: a handful of double operations on numbers near 1. */
#define ck_assert_factor(course, batch, want)                                                  \
    ck_assert_close(course_at(course, batch), want, 1e-12)

/* The schedule refuses this run with this whole sentence and leaves the result alone. */
#define ck_assert_refuses(course, status_, text_)                                              \
    do {                                                                                       \
        tutti_error err_ = TUTTI_ERROR_INIT;                                                   \
        double factor_ = 77.0;                                                                 \
        ck_assert_int_eq(course_ask(course, 0, &factor_, &err_), status_);                     \
        ck_assert_error(err_, status_, text_);                                                 \
        ck_assert_close(factor_, 77.0, 0.0);                                                   \
    } while (0)

#endif
