/* cpus.h - how many CPUs this process may keep busy, and their model. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_CPUS_H
#define HOST_BASE_CPUS_H

#include <stdint.h>

/* Those of its affinity, but no more than the quota of CPU time of its control groups, rounded up; at
 * least 1.  [any] */
int cpus_available(void);

/* The quota alone, of `groups` as cgroup_own gives them below the folder `root`; INT_MAX when there is none.
 * [any] */
int cpus_in_groups(const char *root, const char *groups);

/* Nanoseconds that the threads of this process have waited for a processor so far, while others had it, summed over those
 * that are there; 0 where the kernel does not count them.  [any] */
int64_t cpus_waited_ns(void);

/* The model of this machine's CPU, "unknown" where it is not told; the caller frees it, NULL: out of memory. */
char *cpus_model(void);

#endif
