/* host_memory.c - zeroed, aligned memory for arenas, and how much there is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/host_memory.h"
#include "base/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE (2u << 20)
#define PAGE 4096u /* the least there are */

/* Pages that are given back come again as zeros once they are touched; writing zeros would touch them all
 * and clear them twice. */
static bool renew_pages(void *p, uint64_t bytes)
{
    (void)madvise(p, bytes, MADV_HUGEPAGE);
    return madvise(p, bytes, MADV_DONTNEED) == 0;
}

void *host_memory_alloc(uint64_t bytes)
{
    const uint64_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : MEMORY_ALIGN;
    const uint64_t capacity = (bytes + align) / align * align;
    if (capacity < bytes || capacity > PTRDIFF_MAX)
        return NULL;
    void *p = aligned_alloc(align, capacity);
    if (!p)
        return NULL;
    if (align == HUGE_PAGE && renew_pages(p, capacity))
        return p;
    return memset(p, 0, capacity);
}

void host_memory_prefault(void *memory, uint64_t bytes, int threads)
{
    volatile unsigned char *byte = memory;
#pragma omp parallel for num_threads(threads) schedule(static) if (bytes >= HUGE_PAGE)
    for (uint64_t k = 0; k < bytes; k += PAGE)
        byte[k] = 0;
}

/* The pages that lie wholly in [memory, memory + bytes). */
static uint64_t whole_pages(const void *memory, uint64_t bytes, void **ret_first)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uintptr_t from = (uintptr_t)memory, end = (from + bytes) / page * page;
    const uintptr_t first = (from + page - 1) / page * page;
    *ret_first = (void *)first;
    return end > first ? end - first : 0;
}

void host_memory_release(void *memory, uint64_t bytes)
{
    void *first;
    const uint64_t whole = whole_pages(memory, bytes, &first);
    if (whole) /* a system that keeps them takes more memory than it should */
        (void)madvise(first, whole, MADV_DONTNEED);
}

void host_memory_keep_small(void *memory, uint64_t bytes)
{
    void *first;
    const uint64_t whole = whole_pages(memory, bytes, &first);
    if (whole)
        (void)madvise(first, whole, MADV_NOHUGEPAGE);
}

void host_memory_renew_small(void *memory, uint64_t bytes)
{
    host_memory_keep_small(memory, bytes);
    host_memory_release(memory, bytes);
}

uint64_t host_memory_resident(const void *memory, uint64_t bytes)
{
    unsigned char there[1024];
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), most = sizeof there * page;
    void *first;
    const uint64_t whole = whole_pages(memory, bytes, &first);
    uint64_t pages = 0;
    for (uint64_t at = 0; at < whole; at += most) {
        const uint64_t n = whole - at < most ? whole - at : most;
        if (mincore((char *)first + at, n, there) != 0)
            return bytes;
        for (uint64_t k = 0; k < n / page; k++)
            pages += there[k] & 1;
    }
    return pages * page + (bytes - whole);
}

/* Bytes of a group's file cache that nobody has used of late. */
static uint64_t read_cache(const char *folder, const char *key)
{
    char path[4400], line[128];
    unsigned long long value = 0;
    (void)snprintf(path, sizeof path, "%s/memory.stat", folder);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 &&
            sscanf(line + strlen(key), " %llu", &value) == 1)
            break;
    (void)fclose(file);
    return value;
}

/* The least that a group leaves, so far. */
static void tighten(void *context, const char *folder, bool second)
{
    uint64_t *least = context, limit, used;
    if (!cgroup_numbers(folder, second ? "memory.max" : "memory.limit_in_bytes", &limit, 1) ||
        !cgroup_numbers(folder, second ? "memory.current" : "memory.usage_in_bytes", &used,
                        1) ||
        limit >= UINT64_MAX / 4) /* v1 says "no limit" by a huge number */
        return;
    const uint64_t cache = read_cache(folder, second ? "inactive_file" : "total_inactive_file");
    const uint64_t held = used > cache ? used - cache : 0;
    const uint64_t left = limit > held ? limit - held : 0;
    *least = left < *least ? left : *least;
}

uint64_t host_memory_left_in_groups(const char *root, const char *groups)
{
    uint64_t least = UINT64_MAX;
    cgroup_walk(root, groups, "memory", tighten, &least);
    return least;
}

uint64_t host_memory_available(void)
{
    char line[128], groups[CGROUP_TEXT_SIZE];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            break;
    if (file)
        (void)fclose(file);
    const uint64_t machine = kib ? kib * 1024 : UINT64_MAX;
    const uint64_t group = host_memory_left_in_groups(CGROUP_ROOT, cgroup_own(groups));
    return group < machine ? group : machine;
}

const char *bytes_text(uint64_t bytes, char *text, uint32_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double x = (double)bytes;
    int k = 0;
    for (; x >= 1024.0 && k < 4; k++)
        x /= 1024.0;
    (void)snprintf(text, size, k ? "%.1f %s" : "%.0f %s", x, units[k]);
    return text;
}
