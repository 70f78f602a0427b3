/* shared_folder.h - whether all ranks of a run see the folder of its checkpoints. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECKPOINT_SAVER_SHARED_FOLDER_H
#define CHECKPOINT_SAVER_SHARED_FOLDER_H

#include "tutti/ranks.h"

#include <stdbool.h>

/* Whether a file of that name is what a killed shared_folder_check has left.  [any] */
bool shared_folder_is_file(const char *name);

/* All ranks call it, rank 0 with `made`: whether `folder` is there and its own.  Rank 0 makes a file in it, which the others
 * look for, for 10 s at most: a network's file system shows it later; then it is removed.  `ranks` may be NULL: there is one.
 * Errors: `made`, of rank 0, with `err` as it is; E_STATE, of all, names the first rank that does not see it; E_IO; those
 * of the ranks' operations.  [step] */
TUTTI_NODISCARD tutti_status shared_folder_check(const tutti_ranks_v1 *ranks,
                                                 const char *folder, tutti_status made,
                                                 tutti_error *err);

#endif
