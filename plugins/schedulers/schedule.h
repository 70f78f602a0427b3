/* schedule.h - the maths that learning-rate schedules share: times of a run, ramps, warm-up. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "tutti/scheduler.h"

#include <math.h>

static inline const char *schedule_unit(int32_t unit)
{
    static const char *const suffixes[] = {"none",
#define TUTTI_X(name, suffix, text) suffix,
                                           TUTTI_TIME_UNITS(TUTTI_X)
#undef TUTTI_X
    };
    return unit > 0 && unit < (int32_t)(sizeof suffixes / sizeof *suffixes) ? suffixes[unit]
                                                                            : suffixes[0];
}

/* x cut to a whole count. */
static inline int64_t schedule_cut(double x)
{
    return x < 9.2e18 ? (int64_t)x : INT64_MAX;
}

/* Setting `t`, called `what`, as a count of the run's clock:
 *   dur: t * max_duration, in batches when that is in epochs; it is scaled already
 *   ep:  in batches, then times scale_schedule_ratio
 *   other units: times scale_schedule_ratio
 * all cut to whole counts.  `scaled` 0 leaves the ratio out. */
static inline tutti_status schedule_count(const tutti_schedule *s, tutti_time t,
                                          const char *what, int scaled, tutti_time *ret,
                                          tutti_error *err)
{
    const int in_dur = t.unit == TUTTI_UNIT_DURATION;
    const int epochs =
        t.unit == TUTTI_UNIT_EPOCH || (in_dur && s->max_duration.unit == TUTTI_UNIT_EPOCH);
    tutti_time count = {0, 0.0, epochs ? TUTTI_UNIT_BATCH : t.unit, 0};
    if (t.unit == TUTTI_UNIT_SECOND || t.unit == TUTTI_UNIT_NONE)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s is in %s, want iter, ep, ba, sp, tok or dur: a schedule cannot "
                          "follow the wall clock",
                          what, schedule_unit(t.unit));
    if (in_dur && s->max_duration.unit == TUTTI_UNIT_NONE)
        return tutti_fail(err, TUTTI_E_STATE, "%s is in dur, but the run has no max_duration",
                          what);
    if (epochs && s->dataloader_len < 0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s counts epochs, but the data does not say how many batches an "
                          "epoch has",
                          what);
    if (in_dur ? !(t.fraction >= 0.0) : t.count < 0)
        return tutti_fail(err, TUTTI_E_RANGE, "%s is negative, want 0 or more", what);

    const double len = epochs ? (double)s->dataloader_len : 1.0;
    const double ratio = scaled ? s->scale_ratio : 1.0;
    if (in_dur) {
        count.unit = epochs ? TUTTI_UNIT_BATCH : s->max_duration.unit;
        count.count = schedule_cut(t.fraction * len * (double)s->max_duration.count);
    } else if (ratio == 1.0) {
        count.count = epochs ? schedule_cut((double)t.count * len) : t.count;
    } else {
        count.count = schedule_cut((double)t.count * len * ratio);
    }
    *ret = count;
    return TUTTI_OK;
}

/* The same for a length that is divided by. */
static inline tutti_status schedule_length(const tutti_schedule *s, tutti_time t,
                                           const char *what, tutti_time *ret, tutti_error *err)
{
    tutti_time count = {0, 0.0, 0, 0};
    const tutti_status status = schedule_count(s, t, what, 1, &count, err);
    if (status != TUTTI_OK)
        return status;
    if (count.count == 0)
        return tutti_fail(err, TUTTI_E_ARG, "%s comes to 0%s in this run, want more", what,
                          schedule_unit(count.unit));
    *ret = count;
    return TUTTI_OK;
}

static inline double schedule_now(const tutti_schedule *s, int32_t unit)
{
    return (double)tutti_timestamp_get(s->now, unit);
}

/* How much of `length` has passed, 1 at most. */
static inline double schedule_passed(const tutti_schedule *s, tutti_time length)
{
    return fmin(1.0, schedule_now(s, length.unit) / (double)length.count);
}

/* From `from` to `to` as x goes from 0 to 1. */
static inline double ramp_linear(double from, double to, double x)
{
    return from + x * (to - from);
}

/* From 1 to `floor` along half a cosine. */
static inline double ramp_cosine(double floor_, double x)
{
    const double pi = 3.14159265358979323846;
    return floor_ + (1.0 - floor_) * (1.0 + cos(pi * fmin(fmax(x, 0.0), 1.0))) / 2.0;
}

/* From 1 to `floor` as a power of what is left. */
static inline double ramp_polynomial(double floor_, double power, double x)
{
    return floor_ + (1.0 - floor_) * pow(1.0 - x, power);
}

/* The ramp at the start of a *_with_warmup schedule. */
typedef struct warmup {
    int32_t active; /* `factor` is the answer */
    int32_t reserved;
    double factor; /* from 0 to `target` */
    double passed; /* of the rest up to t_max, 1 at most; 0 when there is no rest */
} warmup;

/* The ramp from 0 to `target` over t_warmup.  t_warmup takes part in scale_schedule_ratio only with
 * `scaled`, and then the ramp and its end both do.  `t_max` NULL: no rest is measured. */
static inline tutti_status schedule_warmup(const tutti_schedule *s, tutti_time t_warmup,
                                           int scaled, double target, const tutti_time *t_max,
                                           warmup *ret, tutti_error *err)
{
    tutti_time w = {0, 0.0, 0, 0}, m = {0, 0.0, 0, 0};
    tutti_status status = schedule_count(s, t_warmup, "t_warmup", scaled, &w, err);
    if (status == TUTTI_OK && t_max)
        status = schedule_length(s, *t_max, "t_max", &m, err);
    if (status != TUTTI_OK)
        return status;
    if (t_max && m.unit != w.unit)
        return tutti_fail(err, TUTTI_E_ARG,
                          "t_warmup comes to %s and t_max to %s, want one unit",
                          schedule_unit(w.unit), schedule_unit(m.unit));

    const double now = schedule_now(s, w.unit);
    const double rest = t_max ? (double)m.count - (double)w.count : 0.0;
    warmup result = {now < (double)w.count, 0, 0.0, 0.0};
    if (result.active)
        result.factor = ramp_linear(0.0, target, now / (double)w.count);
    else if (rest > 0.0)
        result.passed = fmin(1.0, (now - (double)w.count) / rest);
    *ret = result;
    return TUTTI_OK;
}

/* A schedule with warm-up must be defined to the end of training: t_max >= max_duration, where the
 * two can be compared. */
static inline tutti_status schedule_covers(const tutti_schedule *s, tutti_time t_max,
                                           tutti_error *err)
{
    tutti_time m = {0, 0.0, 0, 0};
    const tutti_status status = schedule_length(s, t_max, "t_max", &m, err);
    if (status != TUTTI_OK)
        return status;
    const int in_batches =
        m.unit == TUTTI_UNIT_BATCH && s->max_duration.unit == TUTTI_UNIT_EPOCH;
    if (m.unit != s->max_duration.unit && !(in_batches && s->dataloader_len >= 0))
        return TUTTI_OK;
    const double end =
        (double)s->max_duration.count * (in_batches ? (double)s->dataloader_len : 1.0);
    if ((double)m.count >= end)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_ARG,
                      "t_max comes to %lld%s, less than the %.0f%s of training: the schedule "
                      "would not be defined to its end",
                      (long long)m.count, schedule_unit(m.unit), end, schedule_unit(m.unit));
}

#endif
