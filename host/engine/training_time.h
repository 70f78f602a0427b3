/* training_time.h - arithmetic of training time, the steps of its clocks, and "every interval". */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_TRAINING_TIME_H
#define HOST_ENGINE_TRAINING_TIME_H

#include "base/duration.h"
#include "tutti/interval.h"
#include "tutti/time.h"

#include <stdbool.h>

/* A plain number as an operand: unit NONE, the value in `fraction`. */
static inline tutti_time duration_number(double value)
{
    const tutti_time t = {0, value, TUTTI_UNIT_NONE, 0};
    return t;
}

/* Arithmetic as Composer's Time.  A number beside a time takes its unit in add, sub, mod and compare
 * (it must be whole unless that is dur) and scales it in mul and div, where all but dur are cut to
 * whole numbers (7ba / 2 is 3ba).  time / time is a dur; time * dur has the time's unit.
 * Errors, *ret untouched: E_ARG units do not agree; E_RANGE division by zero, overflow.  [any] */
TUTTI_NODISCARD tutti_status duration_add(tutti_time a, tutti_time b, tutti_time *ret,
                                          tutti_error *err);
TUTTI_NODISCARD tutti_status duration_sub(tutti_time a, tutti_time b, tutti_time *ret,
                                          tutti_error *err);
TUTTI_NODISCARD tutti_status duration_mul(tutti_time a, tutti_time b, tutti_time *ret,
                                          tutti_error *err);
TUTTI_NODISCARD tutti_status duration_div(tutti_time a, tutti_time b, tutti_time *ret,
                                          tutti_error *err);
/* The result has the sign of `b`. */
TUTTI_NODISCARD tutti_status duration_mod(tutti_time a, tutti_time b, tutti_time *ret,
                                          tutti_error *err);
/* *ret is -1, 0 or 1. */
TUTTI_NODISCARD tutti_status duration_compare(tutti_time a, tutti_time b, int *ret,
                                              tutti_error *err);

/* Timestamp steps (Composer's to_next_*): `ns` is the wall-clock time of the step. */
void timestamp_next_batch(tutti_timestamp *t, int64_t samples, int64_t tokens, int64_t ns);
void timestamp_next_epoch(tutti_timestamp *t, int64_t ns);
void timestamp_next_iteration(tutti_timestamp *t);

/* now / max in max's unit; -1 when max is not set. */
double duration_elapsed(const tutti_timestamp *now, tutti_time max);

/* tutti_interval_due, with a sentence where that says -1 (E_ARG).  [any] */
TUTTI_NODISCARD tutti_status interval_due(tutti_interval *v, int32_t event,
                                          const tutti_timestamp *now,
                                          const tutti_timestamp *previous,
                                          tutti_time max_duration, int64_t dataloader_len,
                                          bool *ret_due, tutti_error *err);

#endif
