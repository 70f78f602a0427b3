/* device_internal.h - what the files of sums on devices share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DIST_DEVICE_INTERNAL_H
#define HOST_DIST_DEVICE_INTERNAL_H

#include "dist/device_sum.h"
#include "dist/shards.h"
#include "dist/world_internal.h"
#include "tutti/device_collectives.h"

/* What processes tell each other beside the computation: more than are under way at a time. */
enum { MEETINGS = 8 };

typedef struct device_meeting {
    uint64_t number; /* world_started; 0: none yet */
    unsigned char mine, *all;
    bool read; /* what others have said */
} device_meeting;

typedef struct device_meetings {
    device_meeting list[MEETINGS];
    uint32_t next;
} device_meetings;

/* Numbers of a piece, one behind the other: what is sent, what is received, that in 16 bits, numbers in 16 bits on their way
 * back to F32. */
typedef struct sum_regions {
    uint64_t sent, received, narrow, rounded;
} sum_regions;

struct world_device {
    world *world;
    world_device_options options;
    const tutti_device_collectives_v1 *table; /* NULL: one rank */
    void *self;
    bool joined;
    void *
        stream; /* that packs, adds and waits for other ranks; NULL: the device's own, of one rank */
    void *event; /* between the two */
    void *done;  /* what that stream was given last */
    device_meetings meetings;
    float *memory;       /* of the device */
    sum_regions regions; /* there */
    int64_t most;        /* numbers of a piece */
    uint64_t bucket;     /* of the batch, counted from 1 */
    uint64_t capacity;
    uint64_t *offsets[2], *bytes[2]; /* by rank: of what is sent, and received */
};

bool meetings_take(device_meetings *m, size_t size); /* false: no memory */
/* Waits for those under way, which use the memory. */
void meetings_fini(device_meetings *m, world *w);

#endif
