/* logger.h - tutti.logger/1: a destination for metrics, settings, traces and messages. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_LOGGER_H
#define TUTTI_LOGGER_H

#include "base.h"

TUTTI_C_BEGIN

#define TUTTI_LOGGER_V1 "tutti.logger/1"

/* No struct_size, as tutti_named_text: calls take arrays of them, so they never grow. */
typedef struct tutti_named_value {
    const char *name; /* "loss/train/total" */
    double value;
} tutti_named_value;

typedef struct tutti_named_text {
    const char *name; /* "enabled_algorithms/mixup" */
    const char *text; /* a JSON value: 3, "x", true */
} tutti_named_text;

/* One algorithm at one event. */
typedef struct tutti_trace {
    uint32_t struct_size;
    int32_t event;
    const char *name;       /* the algorithm's instance name */
    const char *event_name; /* "before_loss" */
    uint64_t step;
    int64_t exit_code; /* TUTTI_EXIT_NONE for none */
    int32_t order;     /* place in the event; -1 when it did not run */
    int32_t ran;
    uint64_t duration_ns;
} tutti_trace;

enum { TUTTI_LOG_DEBUG = 0, TUTTI_LOG_INFO = 1, TUTTI_LOG_WARNING = 2, TUTTI_LOG_ERROR = 3 };

/* Calls that a logger does not care for are NULL.  Everything is borrowed for the call.  [step] */
typedef struct tutti_logger_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    tutti_status (*metrics)(void *self, const tutti_named_value *values, uint32_t n,
                            uint64_t step, tutti_error *err);
    tutti_status (*hyperparameters)(void *self, const tutti_named_text *values, uint32_t n,
                                    tutti_error *err);
    tutti_status (*trace)(void *self, const tutti_trace *trace, tutti_error *err);
    /* A message of the host or of a plugin, one line without its newline. */
    tutti_status (*message)(void *self, int32_t level, const char *component, const char *text,
                            tutti_error *err);
    /* All that was logged is on the disk when it
     * returns: a checkpoint counts from then on.  Loggers without a file leave it NULL.  [step] */
    tutti_status (*sync)(void *self, tutti_error *err);
    /* The run begins anew, though an earlier attempt at it, which left no checkpoint, may have logged
     * to the same place: that is to be set aside.  Between INIT and FIT_START.  [control] */
    tutti_status (*begin_again)(void *self, tutti_error *err);
} tutti_logger_v1;

TUTTI_C_END
#endif
