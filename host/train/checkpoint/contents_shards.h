/* contents_shards.h - which rank writes which weights and their optimizer state. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_CONTENTS_SHARDS_H
#define HOST_TRAIN_CHECKPOINT_CONTENTS_SHARDS_H

#include "train/step/trainer_state.h"

/* Neighbours in the arena go to one rank, so that a rank needs the optimizer state of one range alone. */
typedef struct contents_parts {
    int32_t mine;   /* this rank */
    int32_t *ranks; /* a weight of the net: who writes it */
    int64_t *
        bounds; /* a rank: where its part of the arena begins; behind the last one its length */
} contents_parts;

/* `shares`: about as many bytes for each rank; else rank 0 writes all.  Errors: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status parts_make(const trainer *t, bool shares, contents_parts *ret,
                                        tutti_error *err);
void parts_fini(contents_parts *p); /* also of zeros */
/* How many numbers of a slot are this rank's to write. */
int64_t parts_own(const contents_parts *p);

#endif
