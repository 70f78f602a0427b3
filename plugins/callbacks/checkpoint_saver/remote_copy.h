/* remote_copy.h - checkpoints that are in place go to the loggers that send files elsewhere. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REMOTE_COPY_H
#define REMOTE_COPY_H

#include "tutti/files.h"
#include "tutti/time.h"

typedef struct remote_copy {
    const tutti_files_v1 *files; /* NULL: the host has none */
    const char *name; /* of a checkpoint there, with variables in braces; NULL: none goes */
    const char *
        latest; /* of a small file that names the newest one, without its ".symlink"; NULL: none */
    const char *run;
    uint32_t overwrite;
} remote_copy;

/* Whether the names can be made.  Errors: those of name_expand. */
TUTTI_NODISCARD tutti_status remote_copy_check(const remote_copy *c, tutti_error *err);
/* Sends folder/name, which is whole, and the shards that it is an index of; `link` is the local link to the newest one.
 * Nothing happens in a run whose loggers send no files.  Errors: those of tutti.files/1, E_IO. */
TUTTI_NODISCARD tutti_status remote_copy_send(const remote_copy *c, const char *folder,
                                              const char *name, const char *link,
                                              const tutti_timestamp *time, tutti_error *err);

/* Brings the k-th newest of the checkpoints that were sent, and its shards, to `folder`, which is made, under their own names; *ret_name
 * is the file's.  By the batch in their names, or where these have none the one that `latest` names.
 * Errors: E_NOTFOUND there are no more; those of tutti.files/1. */
TUTTI_NODISCARD tutti_status remote_copy_fetch(const remote_copy *c, uint32_t k,
                                               const char *folder, char *ret_name, size_t size,
                                               tutti_error *err);

#endif
