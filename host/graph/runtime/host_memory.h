/* host_memory.h - zeroed, aligned memory for arenas. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_RUNTIME_HOST_MEMORY_H
#define HOST_GRAPH_RUNTIME_HOST_MEMORY_H

#include <stdint.h>

#define MEMORY_ALIGN 64u

static inline uint64_t bytes_round(uint64_t bytes)
{
    return (bytes + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
}

/* At least `bytes` zeroed bytes, 64-byte aligned (large ones in huge pages where the system has
 * them, each there from its first use on); the caller frees them with free.  NULL when out of
 * memory. */
void *host_memory_alloc(uint64_t bytes);

/* Takes the pages now, by all threads, that a later step would take one by one.  What is there is lost. */
void host_memory_prefault(void *memory, uint64_t bytes, int threads);

/* For memory that is given back in pieces: pages of the system's least size from now on.  What is there is lost. */
void host_memory_renew_small(void *memory, uint64_t bytes);
/* The same for what is kept. */
void host_memory_keep_small(void *memory, uint64_t bytes);
/* Gives the pages that lie wholly in it back to the system; they come again as zeros once they are touched. */
void host_memory_release(void *memory, uint64_t bytes);
/* Bytes of it that are there, in whole pages. */
uint64_t host_memory_resident(const void *memory, uint64_t bytes);

/* What the system says can be had without swapping, for the machine and for our control group;
 * UINT64_MAX when it does not say. */
uint64_t host_memory_available(void);

/* What is left of the limits of the control groups that the text of a /proc/<pid>/cgroup names, below
 * `root` (/sys/fs/cgroup): the least over the group and those above it, file cache that can be dropped
 * counted as free.  UINT64_MAX without a limit. */
uint64_t host_memory_left_in_groups(const char *root, const char *cgroup);

/* "12.3 GiB".  Returns `text`. */
const char *bytes_text(uint64_t bytes, char *text, uint32_t size);

#endif
