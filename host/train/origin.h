/* origin.h - what wrote a checkpoint, and whether this run is alike enough to read it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_ORIGIN_H
#define HOST_TRAIN_ORIGIN_H

#include "train/checkpoint.h"
#include "train/trainer_internal.h"

/* What wrote a checkpoint, as its metadata keeps it. */
typedef struct origin {
    char *plugins; /* "id version" of each, one a line */
    char *surgery; /* "name settings" of the algorithms that changed the model */
    char *frozen;  /* paths of the weights that are trained no more */
} origin;
TUTTI_NODISCARD tutti_status origin_write(const trainer *t, origin *ret_origin,
                                          tutti_error *err);
void origin_fini(origin *o);
/* Refuses what plugins of this run cannot read, and a model changed in a way that this run's is not. */
TUTTI_NODISCARD tutti_status origin_check(trainer *t, const char *path, const checkpoint *c,
                                          tutti_error *err);

#endif
