/* device_gradients.h - gradients of a rank's slots on a device, and their sum over all slots there. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RANKS_DEVICE_GRADIENTS_H
#define HOST_TRAIN_RANKS_DEVICE_GRADIENTS_H

#include "dist/device_sum.h"
#include "train/context/run_context.h"
#include "train/ranks/device_cast.h"
#include "train/ranks/gradient_buckets.h"

/* Slots come in rounds (slots_in_turn), each summed while its backward pass runs: what the rounds have come to each rank keeps
 * for its shards alone. */
typedef struct device_rounds {
    bool on;
    int64_t round; /* the one under way */
    int64_t own;   /* this rank's numbers of the gradients */
    world_rounds sums;
    uint32_t nsums;
} device_rounds;

/* Buffers of the net are slot_gradients' here too, by way of the host. */
typedef struct device_gradients {
    run_context *run;
    world *world;
    world_device *device; /* NULL: gradients are in the host's memory */
    float **pool;         /* arrays of the arena's length, on the device */
    uint32_t npool;
    int64_t numbers;  /* of each */
    uint64_t version; /* of the net that what follows fits */
    gradient_buckets buckets;
    uint32_t *marks;  /* steps of a backward pass behind which sums begin */
    bool shard_only;  /* each rank gets the sums of its own shards alone */
    bool connected;   /* devices of all ranks have summed before */
    bool half;        /* all nodes of the tree are rounded to BF16 */
    bool stopped;     /* another rank could not go on with the batch: it tells why */
    device_cast cast; /* where `half` */
    device_rounds rounds;

    int64_t slots; /* of the batch under way */
    slot_list mine;
    slot_sum blocks[SLOT_BLOCKS]; /* of the tree */
    uint32_t nblocks;
    slot_stack stack; /* of the block under way */
    bool named;       /* blocks are all there, but for the numbers of the last slot */
    uint32_t started; /* sums that have begun, of the buckets */
    tutti_error error;
} device_gradients;

/* Before the device closes.  `failed`: what has begun is given up. */
void device_gradients_close(device_gradients *g, bool failed);
/* A batch of `slots` slots begins, of which `mine` are this rank's; `p` is a training plan of the net.  Errors: E_NOMEM;
 * E_ARG ranks differ.  [step] */
TUTTI_NODISCARD tutti_status device_gradients_begin(device_gradients *g, int64_t slots,
                                                    slot_list mine, const plan *p,
                                                    tutti_error *err);
/* Before the backward pass of a slot, which `p` will run apart from what is before it where this returns true: sums of the
 * last slot's buckets then begin while the pass runs.  Not in the first batch, in which ranks connect as they sum, nor in
 * a plan's first pass, in which libraries prepare themselves: the device may have to be waited for there. */
bool device_gradients_watch(device_gradients *g, int64_t slot, plan *p);
/* A slot ends: its gradients are in the arena, or the device is about to write them.  Errors: E_NOMEM, the device's.
 * [step] */
TUTTI_NODISCARD tutti_status device_gradients_end_slot(device_gradients *g, int64_t slot,
                                                       tutti_error *err);
/* Between two rounds: the sums of the one that has begun are there on all ranks, unless one of them, as `failed` says of this
 * one, cannot go on.  [step] */
void device_gradients_end_round(device_gradients *g, bool failed);
/* Gradients are on a device, and this rank, or another one, cannot sum them. */
bool device_gradients_failed(const device_gradients *g);
/* What this rank could not do, in that or while a backward pass ran; or E_STATE: another one has stopped. */
TUTTI_NODISCARD tutti_status device_gradients_check(const device_gradients *g,
                                                    tutti_error *err);
/* What ranks exchange has failed with `status` and `err`: what this rank's device has failed with, if it has, comes before it
 * in `err`.  Returns the status of what comes first. */
TUTTI_NODISCARD tutti_status device_gradients_blame(const device_gradients *g,
                                                    tutti_status status, tutti_error *err);
/* Behind the last slot of a rank that has not failed, before it tells the others anything: it has nothing left to begin when
 * one of them waits for its device.  Not in the first batch.  `g->error` says what this rank could not begin.  [step] */
void device_gradients_begin_rest(device_gradients *g);
/* Then, once no rank has failed: the sums over all slots are in the arena of every rank, or its own shards of them.
 * Errors: those of world_device_settle; nothing on the device waits for other ranks then.  [step] */
TUTTI_NODISCARD tutti_status device_gradients_sum(device_gradients *g, tutti_error *err);
/* Instead of that, where a rank has failed: sums that have begun are given up, and with them what connects the devices. */
void device_gradients_give_up(device_gradients *g);

#endif
