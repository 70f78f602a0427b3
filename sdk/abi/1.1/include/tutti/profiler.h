/* profiler.h - tutti.profiler/1: markers, instants and counters in the run's trace. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_PROFILER_H
#define TUTTI_PROFILER_H

#include "logger.h"

TUTTI_C_BEGIN

#define TUTTI_PROFILER_V1 "tutti.profiler/1"

/* What the schedule says of the batch under way.  As bits (1 << action) they tell when a marker is
 * recorded. */
enum {
    TUTTI_PROFILE_SKIP,
    TUTTI_PROFILE_WARMUP,
    TUTTI_PROFILE_ACTIVE,
    TUTTI_PROFILE_ACTIVE_AND_SAVE, /* the trace is written after this batch */
    TUTTI_PROFILE_DEFAULT = 0xe    /* bits of all but SKIP */
};

/* The host has none (NULL) unless the run file has a "profiler". */
typedef struct tutti_profiler_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* The marker of this name, made if need be; `categories` (may be NULL) has commas between them.
     * The first `actions` (bits) of a name stay.  [step] */
    tutti_status (*marker)(void *ctx, const char *name, const char *categories,
                           uint32_t actions, uint32_t *ret_marker, tutti_error *err);
    /* Start and finish of a duration.  Markers that were started inside it and are still open finish
     * with it.  E_STATE when it is started twice, or finished without a start.  [step] */
    tutti_status (*start)(void *ctx, uint32_t marker, tutti_error *err);
    tutti_status (*finish)(void *ctx, uint32_t marker, tutti_error *err);
    void (*instant)(void *ctx, uint32_t marker); /* [step] */
    /* Values of a counter as they are now.  [step] */
    void (*counter)(void *ctx, uint32_t marker, const tutti_named_value *values, uint32_t n);
    int32_t (*action)(void *ctx); /* TUTTI_PROFILE_* of the batch under way.  [step] */
} tutti_profiler_v1;

TUTTI_C_END
#endif
