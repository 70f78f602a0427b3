/* stateful.h - tutti.stateful/1 and tutti.saver/1: what checkpoints keep, and who makes them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_STATEFUL_H
#define TUTTI_STATEFUL_H

#include "events.h"
#include "tensor.h"

TUTTI_C_BEGIN

#define TUTTI_STATEFUL_V1 "tutti.stateful/1"

/* No struct_size: the object writes an array of it, so it never grows. */
typedef struct tutti_state_item {
    /* "ema.conv1.weight": letters, digits and any of _ . / -; ends within it; unique within the object. */
    char name[64];
    tutti_tensor
        tensor; /* the object's own memory; the host reads it to save and writes it to load */
} tutti_state_item;

/* An object whose memory must survive a stop and a resume answers this to query. */
typedef struct tutti_stateful_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* Writes up to `room` items and sets *ret_count to how many there are.  Called twice: for
     * the number, then for the items; both views valid until the object's next call.  [step] */
    tutti_status (*items)(void *self, tutti_state_item *items, uint32_t room,
                          uint32_t *ret_count, tutti_error *err);
    /* The host has written all items back.  NULL when nothing is left to do.  [step] */
    tutti_status (*restored)(void *self, tutti_error *err);
    uint32_t flags; /* TUTTI_STATEFUL_* */
    uint32_t reserved2;
} tutti_stateful_v1;

enum {
    /* Items may be missing in a checkpoint that has others of the object (of an older version of it,
     * say); they stay as they are.  Without this flag such a checkpoint is refused. */
    TUTTI_STATEFUL_MAY_BE_NEW = 1
};

#define TUTTI_SAVER_V1 "tutti.saver/1"

/* A callback that writes checkpoints says beforehand whether it will at an event, so that
 * averaging algorithms can put their weights in place. */
typedef struct tutti_saver_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    int32_t (*due)(void *self, int32_t event); /* pure; [step] */
    /* Saves now, whatever the interval says (the run is being stopped).  [step] */
    tutti_status (*save)(void *self, tutti_error *err);
    /* Path of its newest checkpoint, or of where one would be.  Borrowed until the next call.  [step] */
    const char *(*latest)(void *self);
    /* Path of the k-th newest that is there, 0 the
     * newest; NULL past the last.  Borrowed until the next call.  [step] */
    const char *(*older)(void *self, uint32_t k);
#if TUTTI_USE_MINOR >= 1
    /* since 1.1: brings the k-th newest of the checkpoints that were sent elsewhere, 0 the newest, to where `older`
     * finds it, which has nothing yet.  One process of the run is asked.  NULL: none is ever sent.  [control]
     * Errors: E_NOTFOUND there are no more, or nobody to ask; those of tutti.files/1. */
    tutti_status (*fetch)(void *self, uint32_t k, tutti_error *err);
#endif
} tutti_saver_v1;

TUTTI_C_END
#endif
