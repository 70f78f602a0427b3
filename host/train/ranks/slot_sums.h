/* slot_sums.h - sums over all slots of a batch that their passes wait for: statistics of the whole batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RANKS_SLOT_SUMS_H
#define HOST_TRAIN_RANKS_SLOT_SUMS_H

#include "dist/world.h"
#include "graph/plan/plan.h"

/* Each sum is added in the order of dist/slots.h's tree, on every rank alike, from what all slots have: it does not
 * depend on who computes which.  All ranks make the same sums in the same order; one that cannot go on tells the others
 * with the next. */
typedef struct slot_sums {
    world *world;
    bool on;        /* the run wants statistics of the batch */
    bool stopped;   /* a rank could not go on: this one does not either */
    uint32_t count; /* of the batch under way, forward and backward */
    uint32_t done;  /* of these */
    int64_t *sizes; /* numbers of each */
    int64_t slots;  /* of the batch under way */
    slot_list mine;
    unsigned char *message; /* this rank's, behind it those of all */
    uint64_t message_bytes;
    double *rows; /* of all slots */
    uint64_t nrows;
} slot_sums;

void sums_close(slot_sums *s);
/* A batch of `slots` slots begins, of which `mine` are this rank's; `p` is a training plan of the net.  Errors: E_NOMEM.
 * [step] */
TUTTI_NODISCARD tutti_status sums_begin(slot_sums *s, int64_t slots, slot_list mine,
                                        const plan *p, tutti_error *err);
/* The most slots that a rank has: with more than one a rank runs them side by side. */
int64_t sums_most_slots(const slot_sums *s, int64_t slots);
/* The next sum: numbers[k] are those of this rank's k-th slot, `count` each; all become the sum.  Waits for all ranks.
 * Errors: those of world_exchange; E_STATE: a rank has stopped, which `stopped` says, or makes another sum.  [step] */
TUTTI_NODISCARD tutti_status sums_add(slot_sums *s, double *const *numbers, int64_t count,
                                      tutti_error *err);
/* The forward and backward pass of this rank's only slot, which `p` is about to run, makes these sums as it goes on.
 * [step] */
void sums_watch(slot_sums *s, plan *p);
/* No longer; NULL: it had none. */
void sums_unwatch(const slot_sums *s, plan *p);
/* Behind this rank's slots: takes part with nothing in sums that are left, or tells the others that this rank stops, as
 * `failed` says.  Errors: those of world_exchange.  [step] */
TUTTI_NODISCARD tutti_status sums_end(slot_sums *s, bool failed, tutti_error *err);

#endif
