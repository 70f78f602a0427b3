/* optimizer_shards.h - optimizer state sharded over the ranks: each updates its shards of the weights, then all
 * weights are gathered. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_UPDATE_OPTIMIZER_SHARDS_H
#define HOST_TRAIN_UPDATE_OPTIMIZER_SHARDS_H

#include "train/update/updater.h"

/* All ranks call these at the same place.  Of an updater whose `world` is set: a slot holds this rank's numbers alone,
 * those of world_next_own one behind the other. */

/* Slots for an arena of `count` numbers; what belongs to a surviving weight moves along, unless they are the `first`.
 * Errors: E_NOMEM, and those of world.h.  [control] */
TUTTI_NODISCARD tutti_status optimizer_shards_move(updater *u, int64_t count, bool first,
                                                   tutti_error *err);
/* Bytes of state that are on this rank. */
uint64_t optimizer_shards_bytes(const updater *u);
/* Cuts the updater's ranges to what is this rank's.  Errors: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status optimizer_shards_cut(updater *u, tutti_error *err);
/* This rank's shards of slot `k` where they lie on a device: *ret_here, to be freed with free(); else that stays as it is.
 * Before the ranks agree that all have it.  Errors: E_NOMEM, the device's.  [control] */
TUTTI_NODISCARD tutti_status optimizer_shards_fetch(const updater *u, uint32_t k,
                                                    float **ret_here, tutti_error *err);
/* Resharding: numbers [bounds[r], bounds[r + 1]) of slot `k`, counted as the arena's, into `to` of rank r; `here` is what
 * optimizer_shards_fetch gave, or NULL.  [control] */
TUTTI_NODISCARD tutti_status optimizer_shards_collect(const updater *u, uint32_t k,
                                                      const float *here, const int64_t *bounds,
                                                      float *to, tutti_error *err);
/* This rank's shards of slot `k` out of `whole`, in the host's memory.  Errors: the device's.  [control] */
TUTTI_NODISCARD tutti_status optimizer_shards_take(updater *u, uint32_t k, const float *whole,
                                                   tutti_error *err);

#endif
