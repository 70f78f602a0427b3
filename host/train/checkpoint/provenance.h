/* provenance.h - what wrote a checkpoint, and whether this run is alike enough to read it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_PROVENANCE_H
#define HOST_TRAIN_CHECKPOINT_PROVENANCE_H

#include "train/checkpoint_file/checkpoint.h"
#include "train/context/run_context.h"

/* What wrote a checkpoint, as its metadata keeps it. */
typedef struct provenance {
    char *plugins; /* "id version" of each, one a line */
    char *objects; /* state_owners_text */
    char *surgery; /* "name settings" of the algorithms that changed the model */
    char *frozen;  /* paths of the weights that are trained no more */
} provenance;
/* Takes `objects`, also when it fails; NULL: there was no memory for it. */
TUTTI_NODISCARD tutti_status provenance_write(const run_context *run, char *objects,
                                              provenance *ret_provenance, tutti_error *err);
void provenance_fini(provenance *o);
/* Whether the object of that label, as state_owner_at has it, was among them when `c` was written. */
bool provenance_has(const checkpoint *c, const char *label);
/* Refuses what plugins of this run cannot read, and a model changed in a way that this run's is not. */
TUTTI_NODISCARD tutti_status provenance_check(run_context *run, const char *path,
                                              const checkpoint *c, tutti_error *err);

#endif
