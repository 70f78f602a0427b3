/* duration.h - the grammar and arithmetic of training time, and "every interval". */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_DURATION_H
#define HOST_ENGINE_DURATION_H

#include "tutti/time.h"

#include <stdbool.h>

/* Reads "10ep", "3e10sp", "0.5dur", "1h20m40s" (Composer's grammar; bare numbers, the empty string and
 * a wall-clock text without its unit are refused).  [any]
 * Errors: E_ARG "1.5ep is not a whole number of epochs"; E_FORMAT for anything else. */
TUTTI_NODISCARD tutti_status duration_parse(const char *text, tutti_time *ret_time,
                                            tutti_error *err);
/* "10ep", "0.5dur".  Returns `text`. */
const char *duration_text(tutti_time t, char *text, size_t size);

/* Arithmetic as Composer's Time; E_ARG when units do not agree. */
TUTTI_NODISCARD tutti_status duration_add(tutti_time a, tutti_time b, tutti_time *ret,
                                          tutti_error *err);
TUTTI_NODISCARD tutti_status duration_sub(tutti_time a, tutti_time b, tutti_time *ret,
                                          tutti_error *err);
TUTTI_NODISCARD tutti_status duration_mul(tutti_time a, tutti_time b, tutti_time *ret,
                                          tutti_error *err);
TUTTI_NODISCARD tutti_status duration_div(tutti_time a, tutti_time b, tutti_time *ret,
                                          tutti_error *err);
TUTTI_NODISCARD tutti_status duration_mod(tutti_time a, tutti_time b, tutti_time *ret,
                                          tutti_error *err);
TUTTI_NODISCARD tutti_status duration_compare(tutti_time a, tutti_time b, int *ret,
                                              tutti_error *err);

/* Timestamp steps (Composer's to_next_*): `ns` is the wall-clock time of the step. */
void timestamp_next_batch(tutti_timestamp *t, int64_t samples, int64_t tokens, int64_t ns);
void timestamp_next_epoch(tutti_timestamp *t, int64_t ns);
void timestamp_next_iteration(tutti_timestamp *t);

/* now / max in max's unit; -1 when max is not set. */
double duration_elapsed(const tutti_timestamp *now, tutti_time max);

/* "Every interval", as Composer's create_interval_scheduler: keep one per consumer. */
typedef struct interval {
    tutti_time every;
    bool include_end;       /* also at the end of training */
    bool checkpoint_events; /* judged on *_CHECKPOINT, else on *_END events and FIT_END */
    int64_t last_batch;     /* batch at which it was last due; -1 */
} interval;
/* Whether it is due at `event`.  `previous` is the timestamp before the last batch (NULL before the
 * first).  E_ARG: "dur" needs to know the number of batches. */
TUTTI_NODISCARD tutti_status interval_due(interval *v, int32_t event,
                                          const tutti_timestamp *now,
                                          const tutti_timestamp *previous,
                                          tutti_time max_duration, int64_t dataloader_len,
                                          bool *ret_due, tutti_error *err);

#endif
