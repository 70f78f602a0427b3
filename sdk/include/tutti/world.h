/* world.h - tutti.world/1: the processes that train one model together. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_WORLD_H
#define TUTTI_WORLD_H

#include "base.h"

TUTTI_C_BEGIN

#define TUTTI_WORLD_V1 "tutti.world/1"

/* What a plugin that writes files, or looks at one process, asks the host for.  A plugin that never asks is right
 * nevertheless: the batch, the weights, the gradients of `after_train_batch`, logged numbers and clocks are
 * equal on all ranks.  A run in one process has no such service.  tutti.ranks/1 is there in every run, and does more. */
typedef struct tutti_world_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    int32_t (*rank)(void *ctx); /* from 0; rank 0 writes the run's files.  [any] */
    int32_t (*size)(void *ctx); /* [any] */
    /* `all` gets what every rank has in `mine`, by rank: size * bytes.  All ranks call it at the same event.
     * E_STATE names a rank that does not come.  [step] */
    tutti_status (*gather)(void *ctx, const void *mine, void *all, uint64_t bytes,
                           tutti_error *err);
} tutti_world_v1;

TUTTI_C_END
#endif
