/* shards.h - arrays that are sharded over the ranks: of every bucket each rank has a shard. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DIST_SHARDS_H
#define HOST_DIST_SHARDS_H

#include "dist/world.h"

/* Numbers [first, first + count) of an array. */
typedef struct world_span {
    int64_t first, count;
} world_span;

/* An array is cut into buckets of world_bucket numbers, a bucket of n into shards: that of `rank` begins at
 * world_shard_begin, the next one's where it ends.  Shards begin at multiples of 16. */
int64_t world_shard_begin(const world *w, int64_t n, int32_t rank);
int64_t world_shard_length(const world *w, int64_t n, int32_t rank);
/* How many of an array's n numbers are this rank's. */
int64_t world_own(const world *w, int64_t n);
/* The next of them, from bucket to bucket; *at is 0 at first.  False at the end. */
bool world_next_own(const world *w, int64_t n, int64_t *at, world_span *ret_span);

/* All ranks call these at the same place.  Errors: E_NOMEM, and those of world.h. */

/* All-gather: every rank's shards of `data` to all.  [step] */
TUTTI_NODISCARD tutti_status world_gather_shards(world *w, float *data, int64_t n,
                                                 tutti_error *err);
/* Resharding: of an array of n, whose numbers the ranks have in `mine`, one behind the other, rank r gets
 * [bounds[r], bounds[r + 1]) in `to`.  [control] */
TUTTI_NODISCARD tutti_status world_collect_shards(world *w, const float *mine, int64_t n,
                                                  const int64_t *bounds, float *to,
                                                  tutti_error *err);

#endif
