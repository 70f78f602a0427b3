/* saver.h - the participant that saves checkpoints, by tutti.saver/1. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_SAVER_H
#define HOST_TRAIN_CHECKPOINT_SAVER_H

#include "train/context/run_context.h"
#include "tutti/stateful.h"

typedef struct saver {
    instance *instance; /* NULL: there is none */
    const tutti_saver_v1 *table;
} saver;

/* The first of the run file that can save, which participants.c puts behind the others.  False: there is none. */
bool saver_find(const run_context *run, saver *ret_saver);

/* Whether any participant saves at this event.  [step] */
bool saver_is_due(const run_context *run, int32_t event);

/* What is not saved yet is saved now; *ret_can is false where no participant does so.  Errors: the saver's.
 * [control] */
TUTTI_NODISCARD tutti_status saver_save(const run_context *run, bool *ret_can,
                                        tutti_error *err);

/* Whether it can tell the paths of its checkpoints. */
bool saver_has_paths(const saver *s);
/* The path of the k-th newest checkpoint, borrowed until the next call; NULL: there are no more.  [control] */
const char *saver_path(const saver *s, uint32_t k);
/* As tutti.saver/1; E_NOTFOUND also where it never sends any.  [control] */
TUTTI_NODISCARD tutti_status saver_fetch(const saver *s, uint32_t k, tutti_error *err);

#endif
