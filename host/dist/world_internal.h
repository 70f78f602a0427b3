/* world_internal.h - what the files of this folder share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DIST_WORLD_INTERNAL_H
#define HOST_DIST_WORLD_INTERNAL_H

#include "dist/world.h"
#include "tutti/collectives.h"

#include <pthread.h>
#include <stdatomic.h>

/* Numbers that shares begin at multiples of: a cache line; or, so that what belongs to others can be given back, a page
 * where so many pages a rank make that no matter. */
enum { SHARE_UNIT = 16, PAGE_NUMBERS = 1024, PAGES_EVEN = 16 };

/* Sums that go on beside the caller: one thread takes the pieces in their order. */
typedef tutti_status background_run(void *ctx, const world_piece *one, tutti_error *err);
typedef struct background {
    background_run *run;
    void *ctx;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    world_piece *pieces; /* a ring; the oldest at `first` */
    uint32_t first, count, capacity;
    uint64_t started; /* pieces so far; the caller's */
    uint64_t done;    /* of these */
    bool running;     /* the thread is there */
    bool stop;
    tutti_error error; /* the first one */
    int64_t waited_ns;
} background;

struct world {
    world_options options;
    const tutti_collectives_v1 *table;
    void *self; /* of the comm object */
    tutti_world_info info;
    tutti_world_v1 service;
    bool agreed; /* on a failure */
    /* An operation has failed here: the others may be in the midst of it, and no other one is begun. */
    atomic_bool broken;
    float *memory;     /* of sums: what is sent, then what is received */
    uint64_t capacity; /* numbers */
    uint64_t step;     /* world_tell */
    uint64_t told[2];  /* pieces since then: sums, gathers */
    background background;
};

/* Notes a failure for good; returns `s`. */
tutti_status world_note(world *w, tutti_status s);
/* As world_tell, of the same step. */
void world_tell_phase(world *w, const char *phase);
/* Part r of `out` goes to rank r, part r of `in` comes from it; waits.  Errors: the comm's. */
TUTTI_NODISCARD tutti_status world_all_to_all(world *w, const tutti_parts *out,
                                              const tutti_parts *in, tutti_error *err);
/* The ranks' shares of one bucket to all. */
TUTTI_NODISCARD tutti_status world_gather_piece(world *w, float *data, int64_t n,
                                                tutti_error *err);
void background_init(background *b);
/* Behind the piece under way; what has not begun is left. */
void background_fini(background *b);
/* One piece more for the thread, which the first call starts; it calls `run` with `ctx`, the same in all calls. */
TUTTI_NODISCARD tutti_status background_start(background *b, background_run *run, void *ctx,
                                              const world_piece *piece, tutti_error *err);
/* Waits for all pieces, as world_finish. */
TUTTI_NODISCARD tutti_status background_finish(background *b, tutti_error *err);
/* Piece number `n`, from 1, is over. */
void background_wait(background *b, uint64_t n);
/* No piece is under way or waits. */
void background_drain(background *b);

#endif
