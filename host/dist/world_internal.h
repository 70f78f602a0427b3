/* world_internal.h - what the files of this folder share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DIST_WORLD_INTERNAL_H
#define HOST_DIST_WORLD_INTERNAL_H

#include "dist/background.h"
#include "dist/forecast.h"
#include "dist/world.h"
#include "tutti/collectives.h"

#include <stdatomic.h>

/* Numbers that shards begin at multiples of: a cache line; or, so that what belongs to others can be given back, a page
 * where so many pages a rank make that no matter. */
enum { SHARD_UNIT = 16, PAGE_NUMBERS = 1024, PAGES_EVEN = 16 };

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

/* One piece on its way: an operation that has begun and is waited for later. */
typedef struct bucket {
    world *w;
    world_piece one;
    uint64_t unit;                   /* bytes of a number on its way */
    uint64_t *offsets[2], *bytes[2]; /* sent, received; by rank; one block of memory */
    tutti_parts out, in;             /* of these */
    uint64_t request;
    uint64_t number;       /* of the step, for others to read */
    const char *waits;     /* the operation that is under way; NULL: none */
    world_memory memory;   /* of sums: what is sent, then what is received */
    world_memory gathered; /* of gathers from machine to machine */
    float *received;
    uint64_t count; /* numbers there */
    bool in_place;  /* this rank's blocks are added where they lie, and not sent to itself */
    /* The all-gather. */
    void *data;
    int64_t n;
    /* From machine to machine. */
    int64_t carried;            /* numbers of the shards that this rank is the courier of */
    slot_sum sums[SLOT_BLOCKS]; /* of this machine's blocks, `carried` numbers each */
    uint32_t nsums;
} bucket;

/* Sums one behind the other: while a bucket's blocks are on their way to those who add them, the sums of the one before it
 * are on their way back.  All ranks begin these operations in one order, whenever they are done. */
typedef struct pipeline {
    bucket buckets[PIPELINE_BUCKETS];
    uint64_t scattered, reduced,
        gathered; /* how many buckets since all were over: each is scattered, reduced, gathered */
} pipeline;

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
    pipeline pipeline;
    bucket alone;          /* of operations that are waited for at once */
    uint64_t bucket_bytes; /* world_bucket */
    uint64_t step;         /* world_tell, where the thread is */
    uint64_t told_step;    /* where the caller is */
    uint64_t buckets[2];   /* pieces since then: sums, gathers */
    world_counts counts;   /* of whoever speaks with the other ranks */
    background background;
};

/* Notes a failure for good; returns `s`. */
tutti_status world_note(world *w, tutti_status s);
/* Counts are the caller's and the thread's. */
#define WORLD_COUNT(count, n) ((void)__atomic_fetch_add(&(count), (n), __ATOMIC_RELAXED))
#define WORLD_COUNTED(count) __atomic_load_n(&(count), __ATOMIC_RELAXED)
/* The comm hears of the piece's phase, which may be a new step's: at once, or where something is under way from the thread that
 * speaks with it.  `err` is for what goes wrong with that, and is tried another way. */
void world_post_phase(world *w, const world_piece *one, tutti_error *err);
void world_begin_phase(world *w, const world_piece *one); /* there */
/* As world_tell, of the same step. */
void world_tell_phase(world *w, const char *phase);
/* `bytes` go to each of the others. */
void world_count_told(world *w, uint64_t bytes);
/* The parts go to the other ranks. */
void world_count_sent(world *w, const tutti_parts *out);
/* What is there is lost where it grows. */
TUTTI_NODISCARD tutti_status world_reserve(world_memory *m, uint64_t numbers, tutti_error *err);
/* Whether the ranks of each machine follow each other; `all` says by rank where they are.  `m` has room for `size`. */
bool machines_find(world_machines *m, const rank_place *all, int32_t size);
/* Where rank `rank` is; `found`: as machines_find says. */
world_place machines_place(const rank_place *all, int32_t size, int32_t rank, bool found);

/* All-to-all: part r of `out` goes to rank r, part r of `in` comes from it; waits.  Errors: the comm's. */
TUTTI_NODISCARD tutti_status world_all_to_all(world *w, const tutti_parts *out,
                                              const tutti_parts *in, tutti_error *err);
/* The same, waited for by bucket_wait: the bucket's parts of `send` and `receive`. */
TUTTI_NODISCARD tutti_status bucket_all_to_all(bucket *b, void *send, void *receive,
                                               tutti_error *err);
/* All-gather of the parts that are sent, in place, waited for likewise. */
TUTTI_NODISCARD tutti_status bucket_all_gather(bucket *b, void *data, tutti_error *err);
/* What has begun is done.  Nothing has: OK. */
TUTTI_NODISCARD tutti_status bucket_wait(bucket *b, tutti_error *err);
/* Whether the comm can be asked for what has begun without waiting; asks it. */
bool bucket_can_be_asked(const bucket *b);
TUTTI_NODISCARD tutti_status bucket_ask(bucket *b, tutti_error *err);
/* Makes room for the parts of all ranks, once. */
TUTTI_NODISCARD tutti_status bucket_reserve(bucket *b, world *w, tutti_error *err);
void bucket_fini(bucket *b);
/* Rank `r` gets (side 0) or gives (side 1) so many numbers, at number `at`; returns where the next ones begin. */
uint64_t bucket_part(bucket *b, int side, int32_t r, uint64_t at, uint64_t numbers);
/* A piece's sum: its blocks are on their way to those who add them; this rank's shard is added up, and its sum on the way
 * to all; the sums of all are there. */
TUTTI_NODISCARD tutti_status bucket_scatter(bucket *b, world *w, const world_piece *one,
                                            tutti_error *err);
TUTTI_NODISCARD tutti_status bucket_reduce(bucket *b, tutti_error *err);
TUTTI_NODISCARD tutti_status bucket_finish(bucket *b, tutti_error *err);
/* All-gather: the ranks' shards of one bucket of `n` numbers, b->unit bytes each, on their way to all; there. */
TUTTI_NODISCARD tutti_status bucket_gather(bucket *b, void *data, int64_t n, tutti_error *err);
TUTTI_NODISCARD tutti_status bucket_gathered(bucket *b, tutti_error *err);
/* The same where sums go from machine to machine once each machine has added or gathered its own. */
TUTTI_NODISCARD tutti_status hierarchical_scatter(bucket *b, tutti_error *err);
void hierarchical_reduce(bucket *b, float *result, int64_t n); /* n: this rank's shard */
TUTTI_NODISCARD tutti_status hierarchical_gather(bucket *b, tutti_error *err);
TUTTI_NODISCARD tutti_status hierarchical_gathered(bucket *b, tutti_error *err);
extern const background_work pipeline_work; /* with a world as its ctx */
void pipeline_fini(pipeline *p);
/* world_exchange on whichever thread speaks with the other ranks. */
TUTTI_NODISCARD tutti_status world_tell_all(world *w, const void *mine, void *all,
                                            uint64_t bytes, tutti_error *err);
/* world_start_watch, on the world's thread: goes on until a rank wants something else, or has a signal.  Errors: E_NOMEM, the
 * comm's. */
TUTTI_NODISCARD tutti_status world_watch(world *w, atomic_int *heard, tutti_error *err);
/* All-gather: the ranks' shards of one bucket of `n` numbers, `unit` bytes each, to all; waits. */
TUTTI_NODISCARD tutti_status world_gather_piece(world *w, void *data, int64_t n, uint64_t unit,
                                                tutti_error *err);
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

#endif
