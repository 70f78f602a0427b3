/* contents_shards.h - which rank writes which weights and their optimizer state. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_CONTENTS_SHARDS_H
#define HOST_TRAIN_CHECKPOINT_CONTENTS_SHARDS_H

#include "dist/world.h"
#include "train/update/updater.h"

/* Neighbours in the arena go to one rank, so that a rank needs the optimizer state of one range alone. */
typedef struct contents_shards {
    int32_t mine;   /* this rank */
    int32_t *ranks; /* a weight of the net: who writes it */
    int64_t *
        bounds; /* a rank: where its shard of the arena begins; behind the last one its length */
} contents_shards;

/* Of the updater's net, among the ranks of `w`, NULL: one.  `sharded`: about as many bytes for each rank; else rank 0 writes all.  Errors: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status contents_shards_make(const updater *u, const world *w,
                                                  bool sharded, contents_shards *ret,
                                                  tutti_error *err);
void contents_shards_fini(contents_shards *p); /* also of zeros */
/* How many numbers of a slot are this rank's to write. */
int64_t contents_shards_own(const contents_shards *p);

#endif
