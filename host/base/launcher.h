/* launcher.h - whether a launcher of parallel jobs has started this process, and how many beside it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_LAUNCHER_H
#define HOST_BASE_LAUNCHER_H

/* How many processes the launcher has started, by what it puts into the environment; 1 where there is none.
 * *ret_name, a string constant, says which launcher that is; NULL where there is none.  [any] */
int launcher_processes(const char **ret_name);

#endif
