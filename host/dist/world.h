/* world.h - the processes that train one model together: joining, agreeing, summing. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DIST_WORLD_H
#define HOST_DIST_WORLD_H

#include "dist/slots.h"
#include "plugin/instance.h"
#include "tutti/world.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct world world; /* opaque */

typedef struct world_options {
    instance *comm;   /* borrowed; kind "comm" */
    uint64_t run;     /* equal in all ranks of a run */
    double join_s;    /* until all ranks are there */
    double timeout_s; /* until a rank that does not come ends the run */
    uint64_t bucket;  /* bytes that are summed at a time; 0: world_fit_bucket */
    int threads;      /* of sums */
    int (*stopped)(
        void); /* the signal that has come to this rank, which ends the wait for ranks to join, or 0;
                  of any thread; may be NULL */
} world_options;

/* All ranks call the functions below in the same order.  Errors of all: E_STATE names a rank that has ended, has left, or
 * does not come.  After one of them has failed in the midst of an operation none is begun: the others find this rank gone. */

/* Errors also: E_UNSUPPORTED the object has no tutti.collectives/1; E_STATE this process is alone there, and its launcher
 * has started several; those of join.  [control] */
TUTTI_NODISCARD tutti_status world_join(const world_options *options, world **ret_world,
                                        tutti_error *err);
/* Behind it nothing goes on beside the caller: the piece under way ends, and where others wait no operation follows.  NULL is
 * allowed. */
void world_rest(world *w);
/* `failed`: this rank ends with an error.  NULL is allowed. */
void world_leave(world *w, bool failed);
int32_t world_rank(const world *w);
int32_t world_size(const world *w);
int32_t world_local_rank(const world *w); /* from 0, among those of this machine */
/* Machines, among which sums go once they are made on each; 0: their ranks do not follow each other, and sums go among all
 * ranks at once. */
int32_t world_machine_count(const world *w);
/* Where this rank is: among those of its machine, and that among the machines; -1: their ranks do not follow each other. */
typedef struct world_place {
    int32_t local_rank, local_size;
    int32_t machine, machines;
} world_place;
const world_place *world_where(const world *w);
const char *world_comm(const world *w); /* the object that connects the ranks, borrowed */
const tutti_world_v1 *world_service(const world *w);
int64_t world_bucket(const world *w); /* numbers that are summed at a time, a multiple of 16 */
/* For arrays of `numbers`: a quarter of them, so that the sums of a small model too begin while its backward pass runs, and
 * 0.25 to 4 MiB. */
uint64_t world_bucket_bytes(int64_t numbers);
/* Where the options leave it open, world_bucket becomes that of `numbers`.  All ranks call it at the same place, and nothing
 * is under way or in shards. */
void world_fit_bucket(world *w, int64_t numbers);
/* From now on waits may last so much longer than the limit, as for what another rank writes; 0: no longer.  Where waits
 * have no limit that stays. */
void world_extend(world *w, double seconds);
/* This rank has failed and asks who has not come: from now on it waits for 10 s at most. */
void world_hurry(world *w);
/* What goes on beside the caller comes to its end. */
void world_drain(world *w);
/* Where this rank is, for the others' messages; buckets are counted from here on.  Nothing but a watch is under way, which
 * ends.  [step] */
void world_tell(world *w, uint64_t step, const char *phase);

/* `all` gets what every rank has in `mine`, by rank.  [step] */
TUTTI_NODISCARD tutti_status world_exchange(world *w, const void *mine, void *all,
                                            uint64_t bytes, tutti_error *err);
/* `data` of rank `root`, which there is, to all.  [step] */
TUTTI_NODISCARD tutti_status world_broadcast(world *w, void *data, uint64_t bytes, int32_t root,
                                             tutti_error *err);
/* The first failure of any rank, in the order of ranks, becomes that of all: "[rank 2] ...".  `err` is this rank's
 * where `status` is one.  [step] */
TUTTI_NODISCARD tutti_status world_agree(world *w, tutti_status status, tutti_error *err);
/* Whether every rank has been told of this run's failure. */
bool world_has_agreed(const world *w);
/* A run begins anew behind a failure that its caller has survived. */
void world_forget_failure(world *w);

/* What must be equal on all ranks, with its name. */
typedef struct world_item {
    const char *name;
    const char *value;
} world_item;
/* Errors also: E_ARG names the first rank and item that differ from rank 0's, with both values.  [control] */
TUTTI_NODISCARD tutti_status world_compare(world *w, const world_item *items, size_t n,
                                           tutti_error *err);
/* Rank 0's `text` to all; the caller frees *ret_text.  Errors also: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status world_spread(world *w, const char *text, char **ret_text,
                                          tutti_error *err);

/* Partial sums of the tree after each round of a batch, of this rank's shards alone. */
typedef struct world_rounds {
    float **sums; /* slots_waiting of them */
} world_rounds;

enum { WORLD_PHASE = 48 }; /* as tutti_progress has it */

/* Numbers [at, at + n) of arrays that are to be summed over all slots by the tree of slots.h. */
typedef struct world_piece {
    int64_t slots;
    const slot_sum *
        mine; /* this rank's blocks of the tree in order, as slots_blocks has them; overwritten.  No data:
                             zeros.  Borrowed until world_finish */
    uint32_t count;
    int64_t at, n;
    float *result;   /* of all ranks, at `at`; may be an array of `mine` */
    bool shard_only; /* reduce-scatter: a rank gets its shard of the piece alone (shards.h) */
    /* Slots in rounds (slots_in_turn), of which this piece is one: `mine` is the slot of this rank, or nothing; `result` is
     * there with the last round.  NULL: all slots at once. */
    const world_rounds *rounds;
    int64_t round;
    int64_t own_at; /* of the piece's shard in the arrays of `rounds` */
    uint32_t
        most; /* so many pieces have begun and are not over: more wait in world_start; 0: any number */
    bool
        half; /* the numbers have no more than bf16's bits, and all sums are rounded to these */
    bool gathers;    /* no sum, but an all-gather: the ranks' shards of `result` go to all */
    bool overlapped; /* begun while the backward pass runs; counted, and nothing else */
    /* No sum: `all` gets what every rank has in `told`, by rank; NULL: not this. */
    const void *told;
    void *all;
    uint64_t bytes;
    atomic_int *heard; /* no sum, but world_start_watch's; NULL: not this */
    /* No sum: where this rank is (world_tell); "": not this. */
    char phase[WORLD_PHASE];
    uint64_t step;
    bool begins_step;
    /* Once `mine` has been read, on the world's thread; may be NULL. */
    void (*was_read)(void *ctx, int64_t at, int64_t n);
    void *ctx;
} world_piece;
/* Begins the sum of one piece, which a thread of the world's goes on with: pieces begin one after the other, in the
 * same order on all ranks, which also wait (world_wait, world_finish, whatever blocks) at the same places of it.  Errors: E_NOMEM.  [step] */
TUTTI_NODISCARD tutti_status world_start(world *w, const world_piece *piece, tutti_error *err);
/* As world_exchange, behind the pieces that have begun; `mine` and `all` are borrowed until world_finish.  Errors:
 * E_NOMEM.  [step] */
TUTTI_NODISCARD tutti_status world_start_exchange(world *w, const void *mine, void *all,
                                                  uint64_t bytes, tutti_error *err);
/* While the caller computes something long: all ranks tell each other a few times a second what `stopped` of the options
 * says.  Behind the pieces that have begun, and until the caller of any rank begins or waits for something else; so the caller
 * of each may come to that when it likes.  *heard, borrowed until world_finish, becomes the first signal of any rank, or -1
 * where ranks cannot be heard any more, whose error is world_finish's.  In a world of one nothing begins.  Errors:
 * E_NOMEM.  [step] */
TUTTI_NODISCARD tutti_status world_start_watch(world *w, atomic_int *heard, tutti_error *err);
/* What has begun, sums and gathers, is counted from 1: the number of the last one. */
uint64_t world_started(const world *w);
/* What has begun comes to its end without being waited for; a place in the pieces' order, the same on all ranks.  [step] */
void world_flush(world *w);
/* Whether number `n` is over; an error is world_finish's.  [step] */
bool world_is_over(world *w, uint64_t n);
/* Waits until number `n` is over; an error is world_finish's.  [step] */
void world_wait(world *w, uint64_t n);
/* Waits for all sums that have begun.  The first error of any; nothing is left to wait for then.  [step] */
TUTTI_NODISCARD tutti_status world_finish(world *w, tutti_error *err);
/* Collectives of this rank since joining, and what it has given to them.  Behind world_finish. */
typedef struct world_counts {
    uint64_t blocking; /* the caller waited for them */
    uint64_t sums, gathers,
        records;         /* pieces, and what world_start_exchange told, beside the caller */
    uint64_t overlapped; /* of the sums: world_piece's */
    uint64_t bytes;      /* to other ranks */
    uint64_t far;        /* of these to other machines, where world_machine_count knows them */
} world_counts;
world_counts world_counted(const world *w);
/* How long world_finish has waited since joining. */
int64_t world_waited_ns(const world *w);

#endif
