/* world_internal.h - what the files of this folder share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DIST_WORLD_INTERNAL_H
#define HOST_DIST_WORLD_INTERNAL_H

#include "dist/world.h"
#include "tutti/collectives.h"

struct world {
    world_options options;
    const tutti_collectives_v1 *table;
    void *self; /* of the comm object */
    tutti_world_info info;
    tutti_world_v1 service;
    bool agreed;       /* on a failure */
    float *memory;     /* of sums: what is sent, then what is received */
    uint64_t capacity; /* numbers */
};

#endif
