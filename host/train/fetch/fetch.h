/* fetch.h - checkpoints at paths and at addresses: what lies elsewhere is brought here by a plugin, and opened. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_FETCH_FETCH_H
#define HOST_TRAIN_FETCH_FETCH_H

#include "plugin/instance.h"
#include "train/checkpoint_file/checkpoint.h"

#include <stdbool.h>

/* Who fetches, and on whose behalf. */
typedef struct fetch_source {
    registry *registry;
    instance *const *instances; /* of the run: one with a tag for the scheme goes first */
    size_t ninstances;
    bool (*must_end)(void); /* NULL: nothing ends it */
} fetch_source;

/* Files of an address in a folder of their own. */
typedef struct fetched fetched;

/* Opens the checkpoint at `path`, a file here or an address such as "s3://bucket/name", by which sentences then call it.  What was fetched is
 * *kept from then on, for another call; it may be freed while the checkpoint is open.  *kept is NULL at first.
 * Errors: those of checkpoint_open; E_NOTFOUND the server has no such file, or no plugin here fetches such addresses;
 * E_IO, E_INTERRUPTED, E_ARG as tutti.files/1.  [control] */
TUTTI_NODISCARD tutti_status fetch_open(const fetch_source *from, const char *path,
                                        fetched **kept, checkpoint **ret_checkpoint,
                                        tutti_error *err);
/* Where other processes find what was fetched, and by what they know that it is the same file. */
typedef struct fetched_place {
    char path[2048];
    uint64_t inode, bytes;
    int64_t modified_ns;
} fetched_place;
/* False: it cannot be told. */
bool fetched_tell(const fetched *f, fetched_place *ret);
/* Opens what another process has fetched, which must keep it until then.  Errors: E_NOTFOUND the place is not seen here, or
 * has another file; those of checkpoint_open, by the address.  [control] */
TUTTI_NODISCARD tutti_status fetch_open_there(const char *address, const fetched_place *at,
                                              checkpoint **ret_checkpoint, tutti_error *err);
/* Removes the files.  NULL is allowed. */
void fetched_free(fetched *f);

#endif
