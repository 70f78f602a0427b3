/* checkpoint_index.h - checkpoints of several files: shards, and an index that says which tensor is where. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_FILE_CHECKPOINT_INDEX_H
#define HOST_TRAIN_CHECKPOINT_FILE_CHECKPOINT_INDEX_H

#include "train/checkpoint_file/checkpoint.h"

#include <stdbool.h>

/* The index is JSON as Hugging Face's libraries have it: "weight_map" from a tensor's name to a file beside the index.
 * It is written last: shards without an index are no checkpoint. */

/* A text of each shard and of the index's "metadata", equal in those of one save: a shard of another one is damage.  An index
 * without it does not ask. */
#define INDEX_SAVE_KEY "tutti_save"

/* Whether a checkpoint of that path has shards: the name, of the file that a link is to, ends in ".index.json". */
bool checkpoint_is_index(const char *path);

/* The path of shard `k` of `count`, from 0: "x.safetensors.index.json" has "x-TOKEN-00001-of-00003.safetensors", so that
 * the shards of an index that is replaced stay until it is; without a token, NULL, "x-00001-of-00003.safetensors".  The
 * caller frees it; NULL: no memory. */
char *index_shard(const char *path, const char *token, int32_t k, int32_t count);

/* The text of an index; `ranks` has the shard of each item, `token` is INDEX_SAVE_KEY's.  The caller frees it; NULL: no
 * memory. */
char *index_text(const char *path, const char *token, const checkpoint_item *items,
                 const int32_t *ranks, size_t nitems, int32_t count);

/* Puts the index in place, as checkpoint_write; then the shards of the one that it replaces go.  Each file that `text` names
 * is there: one that another machine has written may be seen later, and is waited for, `wait_ms` at most.  Errors:
 * E_NOTFOUND names a file that is not there, and nothing is written; E_IO, E_RANGE, E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status index_write(const char *path, const char *text, int wait_ms,
                                         tutti_error *err);
/* Removes the index, if it is there, and the shards that it names.  [any] */
void index_remove(const char *path);

#endif
