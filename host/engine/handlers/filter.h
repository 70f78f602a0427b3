/* filter.h - which firings of an event a handler hears: every, once, before, after, or a function. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_HANDLERS_FILTER_H
#define HOST_ENGINE_HANDLERS_FILTER_H

#include "tutti/base.h"

#include <stdbool.h>

/* Ignite's filters, on the count of an event (the iteration, the epoch ...).  Exactly one of three
 * groups may be used: `test`; `once`; or `every`, `before`, `after`.  All zeros passes everything. */
typedef struct filter {
    int64_t every;   /* count is a multiple; 0: not given */
    bool has_before; /* count < before */
    bool has_after;  /* count > after; with every, multiples are counted from after + 1 */
    int64_t before;
    int64_t after;
    const int64_t *once; /* count is one of these; the filter's owner has them */
    size_t nonce;
    int32_t (*test)(void *ctx, int64_t count,
                    tutti_error *err); /* 1, 0, or a negative status */
    void *ctx;
} filter;

/* Errors: E_ARG more than one group; a number out of its range, which the sentence names. */
TUTTI_NODISCARD tutti_status filter_check(const filter *f, tutti_error *err);

/* Whether it asks for the count at all. */
bool filter_is_set(const filter *f);

/* 1 when the handler is called at this count, 0 when not; a test's negative status.  [step] */
int32_t filter_passes(const filter *f, int64_t count, tutti_error *err);

#endif
