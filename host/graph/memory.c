/* memory.c - zeroed, aligned memory for arenas. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (2u << 20)

void *memory_take(uint64_t bytes)
{
    const uint64_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : MEMORY_ALIGN;
    const uint64_t room = (bytes + align) / align * align;
    if (room < bytes || room > PTRDIFF_MAX)
        return NULL;
    void *p = aligned_alloc(align, room);
    if (!p)
        return NULL;
    if (align == HUGE_PAGE)
        (void)madvise(p, room, MADV_HUGEPAGE);
    return memset(p, 0, room);
}

uint64_t memory_available(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    if (!file)
        return UINT64_MAX;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            break;
    (void)fclose(file);
    return kib ? kib * 1024 : UINT64_MAX;
}

const char *memory_text(uint64_t bytes, char *text, uint32_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double x = (double)bytes;
    int k = 0;
    for (; x >= 1024.0 && k < 4; k++)
        x /= 1024.0;
    (void)snprintf(text, size, k ? "%.1f %s" : "%.0f %s", x, units[k]);
    return text;
}
