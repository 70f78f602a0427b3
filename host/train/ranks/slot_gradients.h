/* slot_gradients.h - gradients of a rank's slots, and their sum over all slots while the backward pass runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RANKS_SLOT_GRADIENTS_H
#define HOST_TRAIN_RANKS_SLOT_GRADIENTS_H

#include "train/context/run_context.h"
#include "train/ranks/gradient_buckets.h"
#include "train/ranks/gradient_shards.h"
#include "train/ranks/weight_shards.h"

typedef struct slot_rules {
    bool shard_only;    /* each rank gets the sums of its own shards alone */
    bool half;          /* gradients of slots and all their sums are rounded to bf16 */
    bool first_buffers; /* buffers are the first slot's */
    bool buffers_only;  /* gradients are on a device, and not summed here */
    /* Before the end of a round is waited for here; NULL: nothing. */
    void (*end_round)(void *ctx, bool failed);
    void *ctx;
} slot_rules;

/* Buffers that the net's forward pass assigns are summed with the gradients, as the slots' mean weighted by
 * samples, or the first slot's alone. */
typedef struct slot_gradients {
    run_context *run;
    world *world;
    uint64_t version;  /* of the net that what follows fits */
    uint32_t *buffers; /* weights of the net that the forward pass assigns */
    uint32_t nbuffers;
    int64_t ngradients; /* numbers of the arena */
    int64_t numbers;    /* and those of the buffers behind it */
    float **pool;       /* arrays of so many */
    uint32_t npool;
    unsigned char *before; /* all buffers as the batch found them */
    uint64_t before_bytes;
    float *tail; /* buffers of the last slot, then of all */
    gradient_buckets buckets;
    slot_rules rules;

    int64_t slots; /* of the batch under way */
    slot_list mine;
    gradient_shards shards;
    weight_shards weights;
    slot_sum blocks[SLOT_BLOCKS]; /* of the tree; behind the last slot all of them */
    slot_sum tails[SLOT_BLOCKS];  /* the same for buffers */
    slot_sum absent[SLOT_BLOCKS]; /* the same without data, of what this rank cannot begin */
    uint32_t nblocks;
    uint32_t started; /* sums that have begun: of the buckets, then of the buffers */
    slot_stack stack; /* of the block under way */
    tutti_error error;
} slot_gradients;

void gradients_close(slot_gradients *g);
/* Those of a batch's `slots` that `rank` computes. */
slot_list gradients_slots(const slot_gradients *g, int64_t slots, int32_t rank);
/* Whether they fit the net, since the last gradients_begin. */
bool gradients_fit(const slot_gradients *g);
/* A batch of `slots` slots begins; `p` is its plan, `last` that of its last slot where weights are sharded and that one has
 * fewer samples, else NULL.  Errors: E_NOMEM; E_ARG ranks differ.  [step] */
TUTTI_NODISCARD tutti_status gradients_begin(slot_gradients *g, int64_t slots, const plan *p,
                                             const plan *last, tutti_error *err);
/* A slot of this rank begins: the sums of the one before are there, where they go in rounds, and buffers are as the batch
 * found them.  Errors: those of world_finish.  [step] */
TUTTI_NODISCARD tutti_status gradients_begin_slot(slot_gradients *g, tutti_error *err);
/* Whether sums begin with this slot of mine: the last one, or each where they go in rounds. */
bool gradients_starts(const slot_gradients *g, int64_t slot);
/* The backward pass of such a slot, which `p` is about to run, begins the sums of buckets as it goes on. */
void gradients_watch(slot_gradients *g, plan *p);
/* A slot ends: its gradients are there.  `share` is the slot's in the batch's samples.  Errors: E_NOMEM.  [step] */
TUTTI_NODISCARD tutti_status gradients_end_slot(slot_gradients *g, int64_t slot, double share,
                                                tutti_error *err);
/* Behind the last slot: all sums of the batch have begun, and what is told to all ranks then follows them.  `failed`: this
 * rank takes part with zeros in what it has not begun.  `g->error` says what this rank could not begin.  Errors: those of world_finish.
 * [step] */
TUTTI_NODISCARD tutti_status gradients_begin_all(slot_gradients *g, bool failed,
                                                 tutti_error *err);
/* The batch ends: the sums are in the arena of every rank, or its own shards of them.  Errors: those of world_finish, and
 * `g->error`.  [step] */
TUTTI_NODISCARD tutti_status gradients_end(slot_gradients *g, tutti_error *err);
/* Then, if all went well: buffers are the batch's, what is not summed is as before. */
void gradients_take_buffers(slot_gradients *g);
/* Bytes of memory that gradients take now, and those of all of them. */
uint64_t gradients_resident(const slot_gradients *g, uint64_t *ret_whole);

#endif
