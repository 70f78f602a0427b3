/* folders.h - the folders above a file, made so that a loss of power does not take them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_FOLDERS_H
#define HOST_BASE_FOLDERS_H

#include "tutti/base.h"

/* Makes those that are missing; each is synced where it lies, if it lies where one may look.  Errors: E_IO,
 * E_RANGE.  [any] */
TUTTI_NODISCARD tutti_status folders_make(const char *path, tutti_error *err);

/* Syncs the folder that the file `path` lies in, so that its name is on the disk.  Errors: E_IO, E_RANGE.  [any] */
TUTTI_NODISCARD tutti_status folders_sync(const char *path, tutti_error *err);

#endif
