/* optimizer_state.h - where the state of each range of weights lies in the slots. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_UPDATE_OPTIMIZER_STATE_H
#define HOST_TRAIN_UPDATE_OPTIMIZER_STATE_H

#include "train/update/updater.h"

/* Of an updater without `world`; with it, optimizer_shards.h. */

/* Gives each range of `l` its places in the slots, and counts their numbers.  Errors: E_ARG, E_SHAPE, E_RANGE: an
 * optimizer gives a shape that nothing can have.  [control] */
TUTTI_NODISCARD tutti_status state_lay_out(const updater *u, update_layout *l,
                                           tutti_error *err);
/* New slots for `l`; what belongs to a surviving weight is copied from those of the updater's layout, unless these are
 * the `first`.  Errors: E_NOMEM, and those of the device's copies.  [control] */
TUTTI_NODISCARD tutti_status state_move(updater *u, const update_layout *l, bool first,
                                        tutti_error *err);
/* Slot `slot` of trained weight `weight` of the net; data is NULL where it has none. */
tutti_tensor state_find(const updater *u, uint32_t weight, uint32_t slot);
/* Bytes of all state of one weight, and of all, also with `world`: the same on every rank. */
uint64_t state_bytes_of(const updater *u, uint32_t weight);
uint64_t state_bytes(const updater *u);

#endif
