/* open_file.h - the file that a run loads from, wherever it lies. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_OPEN_FILE_H
#define HOST_TRAIN_CHECKPOINT_OPEN_FILE_H

#include "train/checkpoint_file/checkpoint.h"
#include "train/ranks/distributed.h"

/* As fetch_open, for the run: a signal that stops it ends the fetching, and nothing of it stays on the disk.
 * What is elsewhere the first rank of each machine fetches, and the others open; who does not see it there fetches for itself,
 * and warns.  All ranks call this, and have the same file then.
 * Errors: also E_ARG ranks have got different files.  [step] */
TUTTI_NODISCARD tutti_status context_open_file(run_context *run, distributed *d,
                                               const char *path, checkpoint **ret_checkpoint,
                                               tutti_error *err);

#endif
