/* folder_lock.h - a folder that one process at a time writes to. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_FOLDER_LOCK_H
#define HOST_BASE_FOLDER_LOCK_H

#include "tutti/base.h"

typedef struct folder_lock folder_lock; /* opaque; a chain of folders held */

/* Takes `folder`, which is made if it is not there, by a lock (flock) on the file .lock in it, and puts it
 * before *locks.  Held until folder_lock_release or the end of the process, however it ends; a folder
 * that *locks has already is not taken twice.  A folder that this process may not write to is left
 * alone.  [control]
 * Errors: E_STATE names the process and the host that have it; E_UNSUPPORTED the file system has no
 * locks; E_IO; E_NOMEM. */
TUTTI_NODISCARD tutti_status folder_lock_take(folder_lock **locks, const char *folder,
                                              tutti_error *err);
void folder_lock_release(folder_lock *locks); /* all of them; NULL is allowed */

#endif
