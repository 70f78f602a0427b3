/* world_internal.h - what the files of this folder share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DIST_WORLD_INTERNAL_H
#define HOST_DIST_WORLD_INTERNAL_H

#include "dist/world.h"
#include "tutti/collectives.h"

#include <pthread.h>
#include <stdatomic.h>

/* Numbers that shards begin at multiples of: a cache line; or, so that what belongs to others can be given back, a page
 * where so many pages a rank make that no matter. */
enum { SHARD_UNIT = 16, PAGE_NUMBERS = 1024, PAGES_EVEN = 16 };

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

typedef struct world_memory {
    float *data;
    uint64_t capacity; /* numbers */
} world_memory;

/* Of a rank, among those of its machine. */
typedef struct rank_place {
    int32_t rank, size;
} rank_place;

/* Of a rank: the first one of its machine, and how many that has. */
typedef struct world_machines {
    int32_t count; /* as world_machine_count */
    int32_t *first, *size;
    bool
        hierarchical; /* sums go on machines first: there are several, and one has several ranks */
} world_machines;

struct world {
    world_options options;
    const tutti_collectives_v1 *table;
    void *self; /* of the comm object */
    tutti_world_info info;
    tutti_world_v1 service;
    bool agreed; /* on a failure */
    /* An operation has failed here: the others may be in the midst of it, and no other one is begun. */
    atomic_bool broken;
    world_machines machines;
    world_place place;
    world_memory memory;   /* of sums: what is sent, then what is received */
    world_memory gathered; /* of gathers */
    uint64_t step;         /* world_tell */
    uint64_t buckets[2];   /* pieces since then: sums, gathers */
    world_counts counts;   /* of whoever speaks with the other ranks */
    background background;
};

/* Notes a failure for good; returns `s`. */
tutti_status world_note(world *w, tutti_status s);
/* As world_tell, of the same step. */
void world_tell_phase(world *w, const char *phase);
/* `bytes` go to each of the others. */
void world_count_told(world *w, uint64_t bytes);
/* What is there is lost where it grows. */
TUTTI_NODISCARD tutti_status world_reserve(world_memory *m, uint64_t numbers, tutti_error *err);
/* Whether the ranks of each machine follow each other; `all` says by rank where they are.  `m` has room for `size`. */
bool machines_find(world_machines *m, const rank_place *all, int32_t size);
/* Where rank `rank` is; `found`: as machines_find says. */
world_place machines_place(const rank_place *all, int32_t size, int32_t rank, bool found);

/* All-to-all: part r of `out` goes to rank r, part r of `in` comes from it; waits.  Errors: the comm's. */
TUTTI_NODISCARD tutti_status world_all_to_all(world *w, const tutti_parts *out,
                                              const tutti_parts *in, tutti_error *err);
/* world_exchange on whichever thread speaks with the other ranks. */
TUTTI_NODISCARD tutti_status world_tell_all(world *w, const void *mine, void *all,
                                            uint64_t bytes, tutti_error *err);
/* All-gather: the ranks' shards of one bucket of `n` numbers, `unit` bytes each, to all. */
TUTTI_NODISCARD tutti_status world_gather_piece(world *w, void *data, int64_t n, uint64_t unit,
                                                tutti_error *err);
/* The same, and this rank's shard of a piece's sum (reduce-scatter), from machine to machine once each machine has added or
 * gathered its own. */
TUTTI_NODISCARD tutti_status world_gather_hierarchical(world *w, void *data, int64_t n,
                                                       uint64_t unit, tutti_error *err);
TUTTI_NODISCARD tutti_status world_sum_hierarchical(world *w, const world_piece *one,
                                                    float *result, tutti_error *err);
/* The blocks of the tree that rank `r` gives to the piece. */
uint32_t sum_blocks(const world *w, const world_piece *one, int32_t r,
                    slot_span blocks[SLOT_BLOCKS]);
/* What earlier rounds have come to. */
void sum_take_up(const world *w, const world_piece *one, slot_stack *stack);
/* No round follows. */
bool sum_is_over(const world *w, const world_piece *one);
/* The sum of `stack` and its last block to `result`, or, if rounds follow, what there is of it to the piece's rounds. */
void sum_put_down(const world *w, const world_piece *one, slot_stack *stack, slot_sum last,
                  float *result, int64_t n);
/* A piece's numbers as they travel: bytes of one, n of them put at number `at` (no data: zeros), and where `n` of them are
 * received that wire_open then makes f32. */
uint64_t wire_unit(const world_piece *one);
void wire_put(const world_piece *one, void *to, uint64_t at, const float *from, int64_t n);
void *wire_place(const world_piece *one, float *numbers, uint64_t n);
void wire_open(const world_piece *one, float *numbers, uint64_t n);
void wire_read(const void *from, float *to, int64_t n); /* bf16; `from` may lie above `to` */
void background_init(background *b);
/* Ends the thread behind the piece under way; whether pieces are left that have not begun. */
bool background_stop(background *b);
void background_fini(background *b); /* the same, and frees what there is */
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
