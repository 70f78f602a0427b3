/* metrics.h - tutti.metrics/1: numbers for loggers and other plugins, tables and images for loggers. */
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
#if TUTTI_USE_MINOR >= 1
    /* since 1.1: sends a table to every logger that takes tables, with the current step.  The first time, a message
     * names the loggers that do not.  [step]
     * Errors: E_ARG a name is empty, there is no column, or a cell is no JSON value. */
    tutti_status (*log_table)(void *ctx, const tutti_table *table, tutti_error *err);
    /* since 1.1: likewise, images.  [step]
     * Errors: E_ARG a name is empty, or pixels are neither U8 nor F32 of the host; E_SHAPE they are not (N, H, W, C)
     * with C 1, 3 or 4, or there are none; E_RANGE a class of a mask is below 0, of an image
     * below -1. */
    tutti_status (*log_images)(void *ctx, const tutti_images *images, tutti_error *err);
#endif
} tutti_metrics_v1;

TUTTI_C_END
#endif
