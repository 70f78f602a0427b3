/* training_time.c - arithmetic of training time and the steps of its clocks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/training_time.h"

#include <math.h>
#include <stdio.h>

static const char *operand(tutti_time t, char *text, size_t size)
{
    if (t.unit != TUTTI_UNIT_NONE)
        return duration_text(t, text, size);
    (void)snprintf(text, size, "%.9g", t.fraction);
    return text;
}

static tutti_status mismatch(tutti_time a, const char *verb, tutti_time b, tutti_error *err)
{
    char left[64], right[64];
    return tutti_fail(err, TUTTI_E_ARG, "%s %s %s: units do not agree",
                      operand(a, left, sizeof left), verb, operand(b, right, sizeof right));
}

static tutti_status by_zero(tutti_time a, const char *verb, tutti_error *err)
{
    char left[64];
    return tutti_fail(err, TUTTI_E_RANGE, "%s %s 0: division by zero",
                      operand(a, left, sizeof left), verb);
}

static tutti_status overflow(tutti_time a, const char *verb, tutti_error *err)
{
    char left[64];
    return tutti_fail(err, TUTTI_E_RANGE, "%s %s so much: the result does not fit 64 bits",
                      operand(a, left, sizeof left), verb);
}

static tutti_time in_dur(double fraction)
{
    const tutti_time t = {0, fraction, TUTTI_UNIT_DURATION, 0};
    return t;
}

static tutti_time counted(int64_t count, int32_t unit)
{
    const tutti_time t = {count, 0.0, unit, 0};
    return t;
}

static double value_of(tutti_time t)
{
    return t.unit == TUTTI_UNIT_DURATION || t.unit == TUTTI_UNIT_NONE ? t.fraction
                                                                      : (double)t.count;
}

/* Whether `x` is a whole number that int64_t holds. */
static bool whole(double x)
{
    return x == floor(x) && x >= -9223372036854775808.0 && x < 9223372036854775808.0;
}

/* Gives the plain number among the two the other's unit; then both must have the same. */
static tutti_status same_unit(tutti_time *a, const char *verb, tutti_time *b, tutti_error *err)
{
    const tutti_time was_a = *a, was_b = *b;
    tutti_time *number = a->unit == TUTTI_UNIT_NONE ? a : b;
    const int32_t unit = number == a ? b->unit : a->unit;
    if (number->unit == TUTTI_UNIT_NONE && unit != TUTTI_UNIT_NONE) {
        if (unit != TUTTI_UNIT_DURATION && !whole(number->fraction))
            return mismatch(was_a, verb, was_b, err);
        *number = unit == TUTTI_UNIT_DURATION ? in_dur(number->fraction)
                                              : counted((int64_t)number->fraction, unit);
    }
    return a->unit == b->unit ? TUTTI_OK : mismatch(was_a, verb, was_b, err);
}

static bool fractional(tutti_time t)
{
    return t.unit == TUTTI_UNIT_DURATION || t.unit == TUTTI_UNIT_NONE;
}

tutti_status duration_add(tutti_time a, tutti_time b, tutti_time *ret, tutti_error *err)
{
    const tutti_status s = same_unit(&a, "+", &b, err);
    if (s != TUTTI_OK)
        return s;
    tutti_time sum = a;
    if (fractional(a))
        sum.fraction = a.fraction + b.fraction;
    else if (__builtin_add_overflow(a.count, b.count, &sum.count))
        return overflow(a, "+", err);
    *ret = sum;
    return TUTTI_OK;
}

tutti_status duration_sub(tutti_time a, tutti_time b, tutti_time *ret, tutti_error *err)
{
    const tutti_status s = same_unit(&a, "-", &b, err);
    if (s != TUTTI_OK)
        return s;
    tutti_time difference = a;
    if (fractional(a))
        difference.fraction = a.fraction - b.fraction;
    else if (__builtin_sub_overflow(a.count, b.count, &difference.count))
        return overflow(a, "-", err);
    *ret = difference;
    return TUTTI_OK;
}

/* t * factor, cut towards zero unless t is a dur or a number. */
static tutti_status scaled(tutti_time t, double factor, tutti_time *ret, tutti_error *err)
{
    tutti_time product = t;
    if (fractional(t)) {
        product.fraction = t.fraction * factor;
    } else if (whole(factor)) {
        if (__builtin_mul_overflow(t.count, (int64_t)factor, &product.count))
            return overflow(t, "*", err);
    } else {
        const double x = trunc((double)t.count * factor);
        if (!whole(x))
            return overflow(t, "*", err);
        product.count = (int64_t)x;
    }
    *ret = product;
    return TUTTI_OK;
}

tutti_status duration_mul(tutti_time a, tutti_time b, tutti_time *ret, tutti_error *err)
{
    if (b.unit == TUTTI_UNIT_NONE || b.unit == TUTTI_UNIT_DURATION)
        return scaled(a.unit == TUTTI_UNIT_NONE ? b : a,
                      a.unit == TUTTI_UNIT_NONE ? a.fraction : b.fraction, ret, err);
    if (a.unit == TUTTI_UNIT_NONE || a.unit == TUTTI_UNIT_DURATION)
        return scaled(b, a.fraction, ret, err);
    return mismatch(a, "*", b, err);
}

tutti_status duration_div(tutti_time a, tutti_time b, tutti_time *ret, tutti_error *err)
{
    const bool by_number = b.unit == TUTTI_UNIT_NONE;
    if (!by_number && a.unit != b.unit)
        return mismatch(a, "/", b, err);
    if (value_of(b) == 0.0)
        return by_zero(a, "/", err);
    if (!by_number) {
        *ret = in_dur(value_of(a) / value_of(b));
        return TUTTI_OK;
    }
    if (fractional(a) || !whole(b.fraction) || b.fraction == -1.0)
        return scaled(a, 1.0 / b.fraction, ret, err);
    *ret = counted(a.count / (int64_t)b.fraction, a.unit);
    return TUTTI_OK;
}

tutti_status duration_mod(tutti_time a, tutti_time b, tutti_time *ret, tutti_error *err)
{
    const tutti_status s = same_unit(&a, "%", &b, err);
    if (s != TUTTI_OK)
        return s;
    if (value_of(b) == 0.0)
        return by_zero(a, "%", err);
    tutti_time rest = a;
    if (fractional(a)) {
        rest.fraction = fmod(a.fraction, b.fraction);
        if (rest.fraction != 0.0 && (rest.fraction < 0.0) != (b.fraction < 0.0))
            rest.fraction += b.fraction;
    } else {
        rest.count = b.count == -1 ? 0 : a.count % b.count;
        if (rest.count != 0 && (rest.count < 0) != (b.count < 0))
            rest.count += b.count;
    }
    *ret = rest;
    return TUTTI_OK;
}

tutti_status duration_compare(tutti_time a, tutti_time b, int *ret, tutti_error *err)
{
    const tutti_status s = same_unit(&a, "against", &b, err);
    if (s != TUTTI_OK)
        return s;
    *ret = fractional(a) ? (a.fraction > b.fraction) - (a.fraction < b.fraction)
                         : (a.count > b.count) - (a.count < b.count);
    return TUTTI_OK;
}

void timestamp_next_batch(tutti_timestamp *t, int64_t samples, int64_t tokens, int64_t ns)
{
    t->batch++;
    t->batch_in_epoch++;
    t->sample += samples;
    t->sample_in_epoch += samples;
    t->token += tokens;
    t->token_in_epoch += tokens;
    t->token_in_iteration += tokens;
    t->total_ns += ns;
    t->iteration_ns += ns;
    t->epoch_ns += ns;
    t->batch_ns = ns;
}

static void start_epoch(tutti_timestamp *t)
{
    t->batch_in_epoch = 0;
    t->sample_in_epoch = 0;
    t->token_in_epoch = 0;
    t->epoch_ns = 0;
    t->batch_ns = 0;
}

void timestamp_next_epoch(tutti_timestamp *t, int64_t ns)
{
    t->epoch++;
    t->epoch_in_iteration++;
    t->total_ns += ns;
    t->iteration_ns += ns;
    start_epoch(t);
}

void timestamp_next_iteration(tutti_timestamp *t)
{
    t->iteration++;
    t->epoch_in_iteration = 0;
    t->token_in_iteration = 0;
    t->iteration_ns = 0;
    start_epoch(t);
}

double duration_elapsed(const tutti_timestamp *now, tutti_time max)
{
    if (max.unit == TUTTI_UNIT_NONE || max.unit == TUTTI_UNIT_DURATION)
        return -1.0;
    if (max.count <= 0)
        return 1.0;
    return (double)tutti_timestamp_get(now, max.unit) / (double)max.count;
}
