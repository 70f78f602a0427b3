/* slot_buffers.h - buffers that the net's forward pass assigns, for slot_gradients.c; the net's may be on a device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RANKS_SLOT_BUFFERS_H
#define HOST_TRAIN_RANKS_SLOT_BUFFERS_H

#include "train/ranks/slot_gradients.h"

/* `g->buffers` becomes the list of those that are numbers and that plan `p` assigns. */
void buffers_list(slot_gradients *g, const plan *p);

/* A failure of the device's in these becomes `g->error`.  [step] */

/* All of them to `g->before`, or back. */
void buffers_copy(slot_gradients *g, bool back);
/* What slot `slot` gives to the sums of buffers: its share of them, in `to`. */
void buffers_pack(slot_gradients *g, int64_t slot, double share, float *to);

#endif
