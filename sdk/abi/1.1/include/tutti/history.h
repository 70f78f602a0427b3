/* history.h - tutti.history/1: all that a run has logged, kept in memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_HISTORY_H
#define TUTTI_HISTORY_H

#include "base.h"

TUTTI_C_BEGIN

#define TUTTI_HISTORY_V1 "tutti.history/1"

/* Provided by a logger that keeps what it hears, such as `in_memory`; the host hands the table of the run's
 * first such logger to whoever asks, and NULL where the run has none.  It lives until that logger closes.
 * Texts are borrowed for as long.  [step] */
typedef struct tutti_history_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx; /* the provider's; pass it back */
    /* The k-th name under which a number was logged, in the order in which they first came; NULL past
     * the last. */
    const char *(*name_at)(void *ctx, uint32_t k);
    /* How many numbers were logged under `name`; 0: none. */
    uint64_t (*count)(void *ctx, const char *name);
    /* The newest of them.  Errors: E_NOTFOUND, nothing was logged under `name`. */
    tutti_status (*latest)(void *ctx, const char *name, double *ret_value, tutti_error *err);
    /* Writes the first `capacity` of them, in the order in which they came.  `field` is `name` itself or NULL
     * for the numbers, or a counter of the time at which each was logged: "iteration", "epoch", "batch",
     * "sample", "token", "epoch_in_iteration", "token_in_iteration", "batch_in_epoch", "sample_in_epoch",
     * "token_in_epoch", and in seconds "total_wct", "iteration_wct", "epoch_wct", "batch_wct".
     * Errors: E_NOTFOUND, nothing was logged under `name`; E_ARG, there is no such field. */
    tutti_status (*timeseries)(void *ctx, const char *name, const char *field,
                               double *ret_values, uint64_t capacity, tutti_error *err);
    /* The k-th setting that describes the run; NULL past the last. */
    const char *(*hyperparameter_at)(void *ctx, uint32_t k);
    /* Its value, as JSON; NULL: there is none of this name. */
    const char *(*hyperparameter)(void *ctx, const char *name);
#if TUTTI_USE_MINOR >= 1
    /* since 1.1: the name of the k-th table, in the order in which they first came; NULL past the last. */
    const char *(*table_at)(void *ctx, uint32_t k);
    /* since 1.1: the table that came last under that name, as JSON: {"columns":["a"],"data":[[1],[2]]}; NULL: there is
     * none.  Borrowed until the next one comes. */
    const char *(*table)(void *ctx, const char *name);
#endif
} tutti_history_v1;

TUTTI_C_END
#endif
