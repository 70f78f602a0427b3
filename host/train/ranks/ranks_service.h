/* ranks_service.h - tutti.ranks/1 for the plugins of a run: what those of all ranks compute together. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RANKS_RANKS_SERVICE_H
#define HOST_TRAIN_RANKS_RANKS_SERVICE_H

#include "dist/world.h"
#include "tutti/ranks.h"

typedef struct ranks_service {
    tutti_ranks_v1 table;
    world *world; /* borrowed, there while plugins call; NULL: one rank */
    void *all;    /* of all_gather_any */
    uint64_t *ends;
} ranks_service;

/* Fills the table; `r` must stay where it is. */
void ranks_service_init(ranks_service *r);
void ranks_service_fini(ranks_service *r); /* one rank from then on */

#endif
