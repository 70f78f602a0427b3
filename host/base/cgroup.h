/* cgroup.h - the control groups of Linux, both versions, that a process is in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_CGROUP_H
#define HOST_BASE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
enum { CGROUP_TEXT_SIZE = 8192 };

/* What /proc/self/cgroup says, in CGROUP_TEXT_SIZE bytes; empty where there are no groups.  [any] */
const char *cgroup_own(char *text);

/* Calls `each` with the folder below `root` of every group in `groups`, as cgroup_own gives them, that
 * `controller` ("cpu", "memory") may limit, and of those above it.  second: of version 2.  [any] */
typedef void cgroup_each(void *context, const char *folder, bool second);
void cgroup_walk(const char *root, const char *groups, const char *controller,
                 cgroup_each *each, void *context);

/* The numbers that a group's file begins with, at most n; how many there were.  "max", "-1" and a file that
 * is not there have none.  [any] */
int cgroup_numbers(const char *folder, const char *name, uint64_t *ret, int n);

#endif
