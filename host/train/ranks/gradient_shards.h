/* gradient_shards.h - gradients of which a rank keeps its shards: sums of one round of slots after the other. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RANKS_GRADIENT_SHARDS_H
#define HOST_TRAIN_RANKS_GRADIENT_SHARDS_H

#include "dist/world.h"

/* So many buckets wait for their sums at most: of each the gradients are there whole. */
enum { GRADIENT_BUCKETS_WAITING = 3 };

/* Every rank computes one slot a round (slots_in_turn), whose gradients are summed bucket by bucket: a step of gradient
 * accumulation, with a reduce-scatter in each.  What the rounds have come to each rank keeps for its shards alone, and the
 * memory of the slot's gradients is given back. */
typedef struct gradient_shards {
    bool on;         /* slots come in rounds */
    bool gives_back; /* nobody reads whole gradients */
    int64_t round;   /* the one under way */
    bool begun;      /* all of its sums have */
    int64_t own;     /* this rank's numbers of the gradients; those of buffers follow */
    int64_t numbers; /* with these */
    uint32_t nsums;
    world_rounds sums;
} gradient_shards;

/* A batch of `slots` slots begins: the first round, with places for `gradients` and `buffers` numbers.
 * Errors: E_NOMEM.  [step] */
TUTTI_NODISCARD tutti_status gradient_shards_begin(gradient_shards *r, const world *w,
                                                   int64_t slots, int64_t gradients,
                                                   int64_t buffers, tutti_error *err);
void gradient_shards_close(gradient_shards *r);
/* Bytes of the sums that wait between two rounds. */
uint64_t gradient_shards_bytes(const gradient_shards *r);

#endif
