/* leftovers.h - files that belong to no checkpoint: of a killed save, of an index that is gone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LEFTOVERS_H
#define LEFTOVERS_H

#include <stdbool.h>

/* Whether `name`, in `folder`, is that of a file which a killed process has not finished, ".tmp-a1B2c3" behind it, or of a
 * shard that no index has; of checkpoints called by `pattern`, as name_match has it. */
bool leftovers_have(const char *folder, const char *pattern, const char *run, const char *name);
/* The index `name` is gone: so are its shards.  Nothing is done for another name. */
void leftovers_remove_shards(const char *folder, const char *name);

#endif
