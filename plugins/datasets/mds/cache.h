/* cache.h - the files of a remote set that are here: fetched when needed or ahead of it, within a bounded disk. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_CACHE_H
#define PLUGIN_MDS_CACHE_H

#include "remote.h"

typedef struct mds_cache mds_cache;

typedef struct mds_cache_options {
    uint64_t limit; /* bytes of shards' files; 0: no limit */
    int64_t
        ahead; /* shards to fetch behind the one in use; by a plan, in their order, or any where all have room */
} mds_cache_options;

/* For a sealed set: the folders of those that are remote are the cache; the others stay as they are.
 * Errors: E_ARG a limit below the largest shard; E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status mds_cache_open(mds_set *set, const mds_cache_options *options,
                                            tutti_error *err);
/* Ends the thread; NULL is allowed.  The set is still open.  [control] */
void mds_cache_close(mds_cache *c);

/* From now on samples are read in about this order, by which shards are fetched ahead.  Errors: E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status mds_cache_plan(mds_cache *c, const int64_t *samples, int64_t count,
                                            tutti_error *err);
/* Makes the shard's files be here.  To make room, those of the least recently used shards that nobody uses now are
 * removed; where there are none, the limit is passed for a while.  Its lock is held.  [any] */
TUTTI_NODISCARD tutti_status mds_cache_need(mds_cache *c, mds_shard *s, tutti_error *err);
/* Whether files of a remote shard are not here, such as because another process with the same folder has removed them.  Its
 * lock is held.  [any] */
int mds_cache_lacks(const mds_cache *c, const mds_shard *s);
/* Removes its files: they are not what they should be.  Its lock is held.  [any] */
void mds_cache_drop(mds_cache *c, mds_shard *s);
/* The shard is in use; without its lock.  [any] */
void mds_cache_touch(mds_cache *c, mds_shard *s);

#endif
