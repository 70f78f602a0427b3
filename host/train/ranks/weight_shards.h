/* weight_shards.h - weights that each rank updates its shards of: all-gathered bucket by bucket where they are read. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RANKS_WEIGHT_SHARDS_H
#define HOST_TRAIN_RANKS_WEIGHT_SHARDS_H

#include "dist/world.h"
#include "train/context/run_context.h"

/* So many buckets are gathered before the one that is read. */
enum { WEIGHT_BUCKETS_AHEAD = 2, PLAN_SHAPES = 16 };

/* Neighbours in the arena of weights, in one pass over a slot. */
typedef struct weight_bucket {
    int64_t first, count;
    uint32_t
        reads;     /* the first step of the present plan that reads it; UINT32_MAX: none does */
    uint32_t last; /* the last one */
    uint32_t due;  /* the step before which its gather begins */
    uint32_t sums; /* of gradients' buckets that begin before it, on every rank */
    uint64_t piece; /* of the world's thread */
    bool there;     /* it is waited for */
    bool gone;      /* the others' shards are given back */
} weight_bucket;

typedef struct weight_pass {
    weight_bucket *buckets; /* in the order of their gathers, the same on all ranks */
    uint32_t count;         /* that any plan so far reads in this pass; the rest follow */
    uint32_t all;
    uint32_t started;
} weight_pass;

/* Shapes of the last plans that all ranks have admitted (weights_admit). */
typedef struct plan_shapes {
    uint64_t known[PLAN_SHAPES];
    uint32_t next;
    uint32_t reserved;
} plan_shapes;

typedef struct weight_shards {
    run_context *run;
    world *world;
    bool wanted; /* by the run file, in a world of several */
    bool
        keeps; /* the run file shards no weights, but what updates them: gathered once a batch, not given back */
    bool on;   /* in the batch under way: nobody reads whole weights */
    bool overlaps;         /* sums of gradients begin while the backward pass runs */
    bool watching;         /* this rank computes a slot in this round */
    bool sharded;          /* others' weights are not there */
    weight_pass passes[2]; /* forward, backward */
    plan_shapes admitted;  /* in the present order of gathers */
    uint32_t sums;         /* of gradients' buckets that have begun */
    tutti_error error;
} weight_shards;

void weights_close(weight_shards *w);
/* For the net and `p`; `steps` of the backward pass end the `nsums` buckets of gradients, in the order of their sums; NULL:
 * all sums come behind it.  Errors: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status weights_fit(weight_shards *w, const plan *p, const uint32_t *steps,
                                         uint32_t nsums, tutti_error *err);
/* A batch may run `p` too, whose shapes are others, and `steps` are its own: gathers begin early enough for it, so that the
 * order is one that all plans so far can keep.  All ranks call it with the same plans in the same order.  [step] */
void weights_admit(weight_shards *w, const plan *p, const uint32_t *steps, uint32_t nsums);
/* Of the order of all gathers, and of the sums that begin before each: the same on all ranks. */
uint64_t weights_order(const weight_shards *w);
void weights_begin_round(weight_shards *w);
/* Behind it, for the first round of a batch, `w->on` being known. */
void weights_begin_batch(weight_shards *w);
/* Plan `p` is about to run a slot. */
void weights_watch(weight_shards *w, plan *p);
/* Gathers that other ranks begin before the sum of gradients' bucket `k`, counted in the order of sums. */
void weights_before_sum(weight_shards *w, uint32_t k);
/* All gathers of a pass have begun, whether anything ran here or not. */
void weights_end_forward(weight_shards *w);
void weights_end_backward(weight_shards *w);
/* Behind both, where weights are kept: waits for them. */
void weights_wait(weight_shards *w);
/* Behind world_finish, which has found no error: those are there, until the update. */
void weights_settle(weight_shards *w);
/* All weights on all ranks, until the next batch, or where they are kept the next update; all ranks call it.  [step] */
TUTTI_NODISCARD tutti_status weights_gather_all(weight_shards *w, tutti_error *err);

#endif
