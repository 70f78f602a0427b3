/* newest.h - the newest checkpoint of a folder, by the names of its files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECKPOINT_SAVER_NEWEST_H
#define CHECKPOINT_SAVER_NEWEST_H

#include "names.h"

/* Later than every file. */
static const name_time newest_of_all = {INT64_MAX, 0};

/* What the name of the latest file before `before` says, batch -1 without one, and its path.  Returns 0, or the errno of a
 * folder that is there and cannot be listed.  [control] */
int newest_find(const char *folder, const char *pattern, const char *run, name_time before,
                name_time *ret_time, char *ret_path, size_t size);

#endif
