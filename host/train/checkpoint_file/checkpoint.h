/* checkpoint.h - one .safetensors file with tensors and text: written whole or not at all. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_FILE_CHECKPOINT_H
#define HOST_TRAIN_CHECKPOINT_FILE_CHECKPOINT_H

#include "tutti/tensor.h"

#include <stdbool.h>

typedef struct checkpoint_item {
    const char *name; /* "model.conv1.weight" */
    tutti_tensor tensor;
} checkpoint_item;

typedef struct checkpoint_text {
    const char *key; /* in the header's __metadata__ */
    const char *value;
} checkpoint_text;

/* Writes `path` by way of a temporary file, `path`.tmp-tutti-XXXXXX: synced, renamed, folder synced.  Folders
 * are made.  A failure (full disk, quota) removes the temporary file and leaves the old `path`.
 * The format's version ("tutti") and a checksum over the whole file come first in the metadata.  [any]
 * Errors: E_IO with path, operation and the system's reason; E_NOMEM. */
TUTTI_NODISCARD tutti_status checkpoint_write(const char *path, const checkpoint_item *items,
                                              size_t nitems, const checkpoint_text *texts,
                                              size_t ntexts, tutti_error *err);

typedef struct checkpoint checkpoint; /* opaque; a file read and verified */

/* Errors: E_IO; E_FORMAT for a truncated file, a bad header, overlapping or missing bytes, a checksum
 * that does not match or lacks ("... is damaged: ..."); E_NOMEM. */
TUTTI_NODISCARD tutti_status checkpoint_open(const char *path, checkpoint **ret_checkpoint,
                                             tutti_error *err);
void checkpoint_close(checkpoint *c); /* NULL is allowed */
/* What sentences call it from now on, in the place of its path; that stays where memory is out. */
void checkpoint_rename(checkpoint *c, const char *name);
size_t checkpoint_count(const checkpoint *c);
void checkpoint_at(const checkpoint *c, size_t k,
                   checkpoint_item *ret_item); /* borrowed view */
/* The tensor called `name`; NOTFOUND names the nearest. */
TUTTI_NODISCARD tutti_status checkpoint_find(const checkpoint *c, const char *name,
                                             tutti_tensor *ret_view, tutti_error *err);
const char *checkpoint_value(const checkpoint *c, const char *key); /* metadata, or NULL */
/* Whether a checksum covers every byte.  That of version 1 covers tensors only, not their names, order
 * and metadata; files of others have none. */
bool checkpoint_is_sealed(const checkpoint *c);

/* Points the link `link` at file `target` (same folder), atomically. */
TUTTI_NODISCARD tutti_status checkpoint_link(const char *link, const char *target,
                                             tutti_error *err);

#endif
