/* device_internal.h - what the files of sums on devices share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DIST_DEVICE_INTERNAL_H
#define HOST_DIST_DEVICE_INTERNAL_H

#include "dist/device_sum.h"
#include "dist/shards.h"
#include "dist/world_internal.h"
#include "tutti/device_collectives.h"

struct world_device {
    world *world;
    world_device_options options;
    const tutti_device_collectives_v1 *table; /* NULL: one rank */
    void *self;
    bool joined;
    void *
        stream; /* that packs, adds and waits for other ranks; NULL: the device's own, of one rank */
    void *event;   /* between the two */
    float *memory; /* of the device: what is sent, then what is received */
    uint64_t capacity;
    uint64_t *offsets[2], *bytes[2]; /* by rank: of what is sent, and received */
};

#endif
