/* background.h - one thread beside the caller that takes pieces in their order. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DIST_BACKGROUND_H
#define HOST_DIST_BACKGROUND_H

#include "dist/world.h"

#include <pthread.h>

enum { BACKGROUND_SLICE_NS = 100000 }; /* of the processor, which the thread asks Linux for */

/* What the thread beside the caller does with pieces.  `*done` counts pieces that are over, in their order. */
typedef struct background_work {
    /* Begins one piece more, and goes on with those before it. */
    tutti_status (*begin)(void *ctx, const world_piece *one, uint64_t *done, tutti_error *err);
    /* Ends all that have begun: no other one follows soon. */
    tutti_status (*flush)(void *ctx, uint64_t *done, tutti_error *err);
    /* Waits for one operation under way and begins nothing.  *ret_more: others may be. */
    tutti_status (*wait)(void *ctx, bool *ret_more, tutti_error *err);
    /* Moves what is under way for a moment, and begins nothing.  *ret_more: it is worth another call. */
    tutti_status (*poll)(void *ctx, bool *ret_more, tutti_error *err);
} background_work;

typedef struct background_entry {
    world_piece one;
    bool flush; /* behind it: the caller waits, or has waited, before it began the next one */
} background_entry;

/* Sums that go on beside the caller: one thread takes the pieces in their order. */
typedef struct background {
    const background_work *work;
    void *ctx;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    background_entry *entries; /* a ring of what has not been taken; the oldest at `first` */
    uint32_t first, count, capacity;
    uint64_t started; /* pieces so far; the caller's */
    uint64_t done;    /* of these */
    bool flush;       /* behind the last one that was taken */
    bool under_way;   /* operations may be */
    bool asks;        /* and it is worth asking for them */
    bool running;     /* the thread is there */
    bool stop;
    tutti_error error; /* the first one */
    int64_t waited_ns;
} background;

void background_init(background *b);
/* Ends the thread behind the operations under way; whether pieces are left that are not over. */
bool background_stop(background *b);
void background_fini(background *b); /* the same, and frees what there is */
/* One piece more for the thread, which the first call starts; `work` and `ctx` are the same in all calls. */
TUTTI_NODISCARD tutti_status background_start(background *b, const background_work *work,
                                              void *ctx, const world_piece *piece,
                                              tutti_error *err);
/* Waits for all pieces, as world_finish. */
TUTTI_NODISCARD tutti_status background_finish(background *b, tutti_error *err);
/* Piece number `n`, from 1, is over. */
void background_wait(background *b, uint64_t n);
/* All pieces so far come to their end without being waited for; all ranks call it at the same place of their order. */
void background_flush(background *b);
/* Whether piece number `n` is over. */
bool background_is_over(background *b, uint64_t n);
/* For the thread itself, within a piece: waits until the caller begins or waits for something, so many milliseconds at most;
 * whether it does. */
bool background_is_wanted(background *b, uint32_t ms);
/* No piece is under way or waits. */
void background_drain(background *b);

#endif
