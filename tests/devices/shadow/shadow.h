/* shadow.h - a device whose memory the host cannot reach and whose work waits for a step. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHADOW_H
#define SHADOW_H

#define TUTTI_USE_MINOR 2 /* TUTTI_DEVICE_HALF_RESULTS, pointwise_group.h */
#include "tutti/device.h"

#include <stdbool.h>

/* What a backend has done, by query: */
#define SHADOW_COUNTS "org.tutti.shadow.counts/1"
typedef struct shadow_counts {
    uint32_t struct_size;
    uint32_t devices;   /* open now */
    uint64_t blocks;    /* of memory, allocated now */
    uint64_t to_device; /* copies */
    uint64_t from_device;
    uint64_t on_device;
    uint64_t launches;
    uint64_t own_kernels; /* launches of the backend's own kernel */
    uint64_t steps;
    uint64_t waits; /* times that queued work had to be done at once, for the host */
} shadow_counts;

typedef struct shadow {
    shadow_counts counts;
    uint64_t bytes;
    bool unified; /* the host may reach the memory */
    bool relu;    /* has a kernel of its own */
    uint8_t reserved[2];
    uint32_t promises; /* TUTTI_DEVICE_* of what its kernels do for nothing */
} shadow;

enum { WORK_COPY, WORK_FILL, WORK_RANDOM, WORK_LAUNCH, WORK_RELEASE };
typedef struct work {
    int kind;
    uint8_t byte;
    void *to;
    const void *from;
    void *staged; /* a copy of `from`, freed with the work */
    uint64_t bytes;
    tutti_device_draw draw;
    tutti_launch launch;
    tutti_op_call call;
    tutti_step step;
    const void *in[TUTTI_OP_MAX_IN];
    void *out[TUTTI_OP_MAX_OUT];
} work;

typedef struct block {
    uint64_t offset;
    uint64_t bytes;
} block;

typedef struct device {
    shadow *owner;
    unsigned char *memory; /* PROT_NONE but while work is done */
    block *blocks;         /* by offset */
    size_t nblocks;
    work **queue;
    size_t nqueue;
    uint64_t queued; /* ever, and */
    uint64_t done;
    tutti_error error; /* the first one that nobody has heard of */
} device;

/* memory.c */
tutti_status shadow_map(device *d, tutti_error *err);
void shadow_unmap(device *d);
/* Whether `p` points into memory that is allocated; NULL passes. */
bool shadow_owns(const device *d, const void *p);
void shadow_reach(const device *d, bool reachable);
tutti_status shadow_alloc(device *d, uint64_t bytes, void **ret_memory, tutti_error *err);
void shadow_forget(device *d, const void *memory);

/* group.c */
extern const tutti_kernel shadow_group; /* for groups of pointwise operations */

/* queue.c */
work *shadow_queue(device *d, int kind, tutti_error *err); /* NULL: out of memory */
void shadow_work(device *d);                               /* does all that is queued */
tutti_status shadow_error(device *d, tutti_error *err);    /* the kept error, once */

#endif
