/* gradient_buckets.h - neighbours in the arena of gradients, summed over the ranks at a time, in the order of the backward
 * pass. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RANKS_GRADIENT_BUCKETS_H
#define HOST_TRAIN_RANKS_GRADIENT_BUCKETS_H

#include "dist/world.h"
#include "graph/plan/plan.h"

typedef struct gradient_bucket {
    int64_t first, count;
    int64_t own; /* of this rank's shards, where its own begins */
    uint32_t
        step; /* of the last slot's backward pass, behind which the sum begins; UINT32_MAX: behind all */
    uint32_t reserved;
} gradient_bucket;

typedef struct gradient_buckets {
    gradient_bucket *list; /* in the order of their sums, which is that of a backward pass */
    uint32_t count;
} gradient_buckets;

/* Of an arena of `numbers`, in the order in which the backward pass of `p` is done with them; frees those before.  Errors:
 * E_NOMEM.  [step] */
TUTTI_NODISCARD tutti_status buckets_make(gradient_buckets *b, const world *w, const plan *p,
                                          int64_t numbers, tutti_error *err);
/* Their steps become those of `p`; the order stays, whichever plan it is. */
void buckets_fit_plan(gradient_buckets *b, const plan *p);
/* Ranks whose buckets had another order would add up what does not belong together. */
uint64_t buckets_hash(const gradient_buckets *b, uint64_t seed);
void buckets_free(gradient_buckets *b);

#endif
