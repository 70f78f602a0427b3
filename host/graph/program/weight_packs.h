/* weight_packs.h - weights packed as kernels read them, kept for all programs until weights change. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PROGRAM_WEIGHT_PACKS_H
#define HOST_GRAPH_PROGRAM_WEIGHT_PACKS_H

#include "tutti/op.h"

#include <stdbool.h>
#include <stdint.h>

/* A weight in one layout. */
typedef struct weight_pack {
    void *data; /* NULL: its memory has not been taken */
    uint64_t bytes;
    uint64_t version; /* of the weights that it was made of; 0: none so far */
} weight_pack;

/* Who keeps them. */
typedef struct weight_packs {
    void *ctx;
    /* Weight `id` in the layout that `packing` tells, one for all who take it; NULL: it is not kept packed. */
    weight_pack *(*take)(void *ctx, uint32_t id, const tutti_packing *packing,
                         const char *layout, uint64_t bytes);
    void (*give)(void *ctx, weight_pack *pack);
    /* Takes memory for pack->data, which is NULL.  False: there is none. */
    bool (*fill)(void *ctx, weight_pack *pack);
    /* Of the weight, grows when it may have changed; 0: it may at any time, so that the pack is of no use. */
    uint64_t (*version)(const void *ctx, const weight_pack *pack);
} weight_packs;

#endif
