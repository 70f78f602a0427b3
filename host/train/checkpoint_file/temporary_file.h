/* temporary_file.h - the file that a save writes before it is renamed, and those that killed saves left behind. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_FILE_TEMPORARY_FILE_H
#define HOST_TRAIN_CHECKPOINT_FILE_TEMPORARY_FILE_H

#include "tutti/base.h"

#include <stddef.h>

/* Makes `path`.tmp-tutti-XXXXXX, of mode 0644, and opens it for writing: the name to ret_name[size], the descriptor to
 * *ret_fd, both the caller's.  It is locked (flock) until the descriptor is closed, so it is renamed before.  Files of
 * that kind for the same `path` that nobody has locked are of processes that were killed: they are removed first.  Where
 * locks hold on one machine alone, one machine writes a path.
 * Errors: E_RANGE the path is too long; E_IO. */
TUTTI_NODISCARD tutti_status temporary_file_open(const char *path, char *ret_name, size_t size,
                                                 int *ret_fd, tutti_error *err);

#endif
