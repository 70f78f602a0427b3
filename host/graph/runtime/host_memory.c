/* host_memory.c - zeroed, aligned memory for arenas, and how much there is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/host_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

/* The number in a file of one number; UINT64_MAX for "max" and for a file that is not there. */
static uint64_t read_number(const char *folder, const char *name)
{
    char path[4400];
    unsigned long long value = 0;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return UINT64_MAX;
    const int found = fscanf(file, "%llu", &value);
    (void)fclose(file);
    return found == 1 ? value : UINT64_MAX;
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

static uint64_t left_in(const char *folder, bool second)
{
    const uint64_t limit = read_number(folder, second ? "memory.max" : "memory.limit_in_bytes");
    const uint64_t used =
        read_number(folder, second ? "memory.current" : "memory.usage_in_bytes");
    const uint64_t cache = read_cache(folder, second ? "inactive_file" : "total_inactive_file");
    if (limit >= UINT64_MAX / 4 || used == UINT64_MAX) /* v1 says "no limit" by a huge number */
        return UINT64_MAX;
    const uint64_t held = used > cache ? used - cache : 0;
    return limit > held ? limit - held : 0;
}

uint64_t host_memory_left_in_groups(const char *root, const char *cgroup)
{
    uint64_t left = UINT64_MAX;
    for (const char *line = cgroup; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const size_t n = strcspn(line, "\n");
        const char *list = memchr(line, ':', n);
        const char *path = list ? memchr(list + 1, ':', n - (size_t)(list + 1 - line)) : NULL;
        if (!path)
            continue;
        const bool second = path == list + 1; /* "0::/path" */
        char controllers[256], folder[4200];
        (void)snprintf(controllers, sizeof controllers, ",%.*s,", (int)(path - list - 1),
                       list + 1);
        if (!second && !strstr(controllers, ",memory,"))
            continue;
        (void)snprintf(folder, sizeof folder, "%s%s%.*s", root, second ? "" : "/memory",
                       (int)(line + n - path - 1), path + 1);
        const size_t top = strlen(root) + (second ? 0 : strlen("/memory"));
        for (;;) { /* the group, then those above it */
            const uint64_t here = left_in(folder, second);
            left = here < left ? here : left;
            char *slash = strrchr(folder, '/');
            if (!slash || (size_t)(slash - folder) < top)
                break;
            *slash = '\0';
        }
    }
    return left;
}

uint64_t host_memory_available(void)
{
    char line[128], groups[8192];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            break;
    if (file)
        (void)fclose(file);
    const uint64_t machine = kib ? kib * 1024 : UINT64_MAX;
    file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return machine;
    groups[fread(groups, 1, sizeof groups - 1, file)] = '\0';
    (void)fclose(file);
    const uint64_t group = host_memory_left_in_groups("/sys/fs/cgroup", groups);
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
