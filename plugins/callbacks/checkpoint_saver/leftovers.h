/* leftovers.h - files of a folder that are in the way: of a killed save, of an index that is gone, of another run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LEFTOVERS_H
#define LEFTOVERS_H

#include "tutti/time.h"

#include <stdbool.h>

/* Whether `name`, in `folder`, is that of a file which a killed process has not finished, ".tmp-tutti-a1B2c3" or ".tmp-a1B2c3" behind it, or of a
 * shard that no index has; of checkpoints called by `pattern`, as name_match has it. */
bool leftovers_have(const char *folder, const char *pattern, const char *run, const char *name);
/* The index `name` is gone: so are its shards.  Nothing is done for another name. */
void leftovers_remove_shards(const char *folder, const char *name);

/* A run that goes on from `now` must not write over files of another.  Errors: E_EXISTS it
 * would, E_IO the folder cannot be listed. */
TUTTI_NODISCARD tutti_status leftovers_check(const char *folder, const char *pattern,
                                             const char *run, const tutti_timestamp *now,
                                             tutti_error *err);

#endif
