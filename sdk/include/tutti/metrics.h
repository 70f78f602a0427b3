/* metrics.h - tutti.metrics/1: numbers for loggers and other plugins. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_METRICS_H
#define TUTTI_METRICS_H

#include "logger.h"

TUTTI_C_BEGIN

#define TUTTI_METRICS_V1 "tutti.metrics/1"

typedef struct tutti_metrics_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* Sends values to every logger, with the current step.  [step] */
    void (*log)(void *ctx, const tutti_named_value *values, uint32_t n);
    /* The last value logged under `name` ("metrics/eval/accuracy"), by anyone.  [step] */
    tutti_status (*get)(void *ctx, const char *name, double *ret_value, tutti_error *err);
    /* The k-th name that has a value, in the order in which they first came, or NULL past the
     * last; borrowed until the next log.  [step] */
    const char *(*name_at)(void *ctx, uint32_t k);
    /* One setting that describes the run, for loggers' hyperparameters; `json` is a JSON value. */
    void (*hyperparameter)(void *ctx, const char *name, const char *json);
} tutti_metrics_v1;

TUTTI_C_END
#endif
