/* collectives.h - tutti.collectives/1: what an object of kind "comm" does for the processes of one run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_COLLECTIVES_H
#define TUTTI_COLLECTIVES_H

#include "base.h"

TUTTI_C_BEGIN

#define TUTTI_COLLECTIVES_V1 "tutti.collectives/1"

/* How the ranks of a run find each other.  The host owns it; valid for the call. */
typedef struct tutti_join {
    uint32_t struct_size;
    uint32_t timeout_ms; /* until all ranks are there */
    uint64_t run;        /* equal in all ranks of one run; another value is another run */
#if TUTTI_USE_MINOR >= 2
    /* since 1.2: not 0 once the operator wants the run to stop: `join` waits no more, E_INTERRUPTED.  May be NULL.
     * [control] */
    int32_t (*stopped)(void *ctx);
    void *ctx;
#endif
} tutti_join;

/* The world as one rank sees it.  The host owns it; the plugin fills it. */
typedef struct tutti_world_info {
    uint32_t struct_size;
    int32_t rank;       /* from 0 */
    int32_t size;       /* ranks in all; at least 1 */
    int32_t local_rank; /* from 0, among the ranks of this machine */
    int32_t local_size;
    uint32_t reserved;
} tutti_world_info;

/* Parts of an array, one a rank.  Borrowed until the operation is done. */
typedef struct tutti_parts {
    uint32_t struct_size;
    uint32_t reserved;       /* write 0 */
    void *data;              /* host memory */
    const uint64_t *offsets; /* bytes from `data`, by rank */
    const uint64_t *bytes;   /* by rank; may be 0 */
} tutti_parts;

/* What a rank was last doing, for the others to name it when it does not come. */
typedef struct tutti_progress {
    uint64_t step;    /* training batches completed */
    int64_t since_ns; /* when it was told, by CLOCK_REALTIME; 0: never */
    char phase[48];   /* "gradients", "checkpoint"; never NULL */
} tutti_progress;

#if TUTTI_USE_MINOR >= 2
enum {
    /* since 1.2: all_to_all and all_gather are begun while others are under way, up to four in all, and waited
     * for in any order.  Without it the host waits for each before it begins the next operation. */
    TUTTI_COLLECTIVES_CONCURRENT = 1
};
#endif

/* All ranks call the operations in the same order; parts of a length that does not agree are an error of the
 * caller.  Every operation returns E_STATE with a sentence that names the rank once a rank has ended, has left, or has
 * not come within the time, and then does so for good. */
typedef struct tutti_collectives_v1 {
    uint32_t struct_size;
    uint32_t flags; /* TUTTI_COLLECTIVES_*; 0 in 1.0 */
    /* Waits for all ranks and fills *ret_world.  E_STATE: not all came in time; E_ARG: the environment does not
     * say which rank this is; E_INTERRUPTED: stopped.  [control] */
    tutti_status (*join)(void *self, const tutti_join *how, tutti_world_info *ret_world,
                         tutti_error *err);
    /* This rank is done; nothing but close follows.  With `failed` the others do not know it yet: they are told, or ended,
     * so that they do not wait for it.  [control] */
    void (*leave)(void *self, int32_t failed);
    /* From now on every wait lasts at most so long; 0: for ever.  [step] */
    void (*set_timeout)(void *self, uint32_t timeout_ms);
    /* `all` gets what every rank has in `mine`, by rank: size * bytes.  [step] */
    tutti_status (*exchange)(void *self, const void *mine, void *all, uint64_t bytes,
                             tutti_error *err);
    /* `data` of rank `root` to all.  [step] */
    tutti_status (*broadcast)(void *self, void *data, uint64_t bytes, int32_t root,
                              tutti_error *err);
    /* Part r of `send` goes to rank r; part r of `receive` comes from rank r.  Begun now; done once `wait` has
     * returned for *ret_request, which the host calls once; not behind an error of another wait.  [step] */
    tutti_status (*all_to_all)(void *self, const tutti_parts *send, const tutti_parts *receive,
                               uint64_t *ret_request, tutti_error *err);
    /* Part r is given by rank r, to all, in place.  As all_to_all.  [step] */
    tutti_status (*all_gather)(void *self, const tutti_parts *parts, uint64_t *ret_request,
                               tutti_error *err);
    tutti_status (*wait)(void *self, uint64_t request, tutti_error *err); /* [step] */
    /* Where this rank is, for others to see without its help.  [step] */
    void (*tell)(void *self, const tutti_progress *now);
#if TUTTI_USE_MINOR >= 2
    /* since 1.2: moves what is under way and returns at once.  *ret_done: whether the operation of `request` is over; `wait`
     * is called for it all the same.  May be NULL: a comm that moves bytes without being called.  Errors as wait's. [step] */
    tutti_status (*test)(void *self, uint64_t request, int32_t *ret_done, tutti_error *err);
#endif
} tutti_collectives_v1;

TUTTI_C_END
#endif
