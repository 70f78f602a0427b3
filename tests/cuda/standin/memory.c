/* memory.c - device memory: a region that the host cannot reach; pinned memory; what belongs to which. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef STANDIN_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

enum { ALIGN = 256, APART = 256, POISON = 0xFF };

static unsigned char *region;
static memory_block *blocks; /* by offset */
static size_t nblocks;
static uint64_t numbers;
static int opened;

typedef struct pinned_block {
    struct pinned_block *next;
    unsigned char *memory;
    uint64_t bytes;
} pinned_block;
static pinned_block *pinned;

static bool map_region(void)
{
    if (region)
        return true;
    const uint64_t bytes = standin_settings()->memory;
    void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    region = p;
    ASAN_POISON_MEMORY_REGION(region, bytes);
    return true;
}

void memory_open(void)
{
    if (opened++ == 0 && region)
        (void)mprotect(region, standin_settings()->memory, PROT_READ | PROT_WRITE);
}

void memory_close(void)
{
    if (--opened == 0 && region)
        (void)mprotect(region, standin_settings()->memory, PROT_NONE);
}

bool memory_is_device(const void *p)
{
    const unsigned char *at = p;
    return region && at >= region && at < region + standin_settings()->memory;
}

const memory_block *memory_find(const void *p, uint64_t bytes)
{
    if (!memory_is_device(p))
        return NULL;
    const uint64_t at = (uint64_t)((const unsigned char *)p - region);
    for (size_t k = 0; k < nblocks; k++) {
        const memory_block *b = &blocks[k];
        if (at >= b->offset && at - b->offset <= b->bytes)
            return bytes <= b->bytes - (at - b->offset) ? b : NULL;
    }
    return NULL;
}

const char *memory_name(const void *p, char *room, size_t size)
{
    const memory_block *b = memory_find(p, 0);
    const uint64_t at = b ? (uint64_t)((const unsigned char *)p - region) - b->offset : 0;
    if (!b)
        (void)snprintf(room, size, "host");
    else if (at)
        (void)snprintf(room, size, "m%llu+%llu", (unsigned long long)b->number,
                       (unsigned long long)at);
    else
        (void)snprintf(room, size, "m%llu", (unsigned long long)b->number);
    return room;
}

static uint64_t used(void)
{
    uint64_t bytes = 0;
    for (size_t k = 0; k < nblocks; k++)
        bytes += blocks[k].room;
    return bytes;
}

/* First fit: the number of the block before which there is room, or nblocks + 1. */
static size_t find_room(uint64_t room, uint64_t *ret_offset)
{
    uint64_t end = 0;
    for (size_t k = 0; k <= nblocks; k++) {
        const uint64_t next = k < nblocks ? blocks[k].offset : standin_settings()->memory;
        if (next - end >= room) {
            *ret_offset = end;
            return k;
        }
        end = k < nblocks ? blocks[k].offset + blocks[k].room : end;
    }
    return nblocks + 1;
}

static unsigned allocate(void **ret_memory, size_t bytes)
{
    const uint64_t all = standin_settings()->memory;
    if (bytes > all || !map_region())
        return MEMORY_ALLOCATION;
    const uint64_t room = (bytes + APART + ALIGN - 1) / ALIGN * ALIGN;
    uint64_t offset = 0;
    const size_t at = find_room(room, &offset);
    memory_block *more = at <= nblocks ? realloc(blocks, (nblocks + 1) * sizeof *blocks) : NULL;
    if (!more)
        return MEMORY_ALLOCATION;
    blocks = more;
    memmove(blocks + at + 1, blocks + at, (nblocks - at) * sizeof *blocks);
    blocks[at] = (memory_block){offset, bytes, room, ++numbers};
    nblocks++;
    ASAN_UNPOISON_MEMORY_REGION(region + offset, bytes);
    memory_open();
    memset(region + offset, POISON, bytes);
    memory_close();
    *ret_memory = region + offset;
    return OK;
}

EXPORT unsigned cudaMalloc(void **memory, size_t bytes)
{
    unsigned code = enter();
    if (!code && queue_is_gathering())
        code = CAPTURE_UNSUPPORTED;
    if (!code && bytes == 0)
        *memory = NULL;
    else if (!code)
        code = allocate(memory, bytes);
    trace("malloc %zu = %s%llu", bytes, code ? "error " : "m",
          code ? (unsigned long long)code : (unsigned long long)numbers);
    return leave(code);
}

EXPORT unsigned cudaFree(void *memory)
{
    char name[48];
    unsigned code = enter();
    if (!memory)
        return leave(code);
    const memory_block *b = memory_find(memory, 0);
    if (!code && (!b || region + b->offset != memory))
        code = INVALID_VALUE;
    if (!code && queue_is_gathering())
        code = CAPTURE_UNSUPPORTED;
    trace("free %s", memory_name(memory, name, sizeof name));
    if (b && code != INVALID_VALUE && code != CAPTURE_UNSUPPORTED) {
        queue_run_all();
        ASAN_POISON_MEMORY_REGION(region + b->offset, b->room);
        const size_t k = (size_t)(b - blocks);
        memmove(blocks + k, blocks + k + 1, (nblocks - k - 1) * sizeof *blocks);
        nblocks--;
    }
    return leave(code);
}

EXPORT unsigned cudaMemGetInfo(size_t *ret_free, size_t *ret_total)
{
    const unsigned code = enter();
    *ret_total = standin_settings()->memory;
    *ret_free = *ret_total - used();
    return leave(code);
}

EXPORT unsigned cudaMallocHost(void **memory, size_t bytes)
{
    unsigned code = enter();
    if (!code && queue_is_gathering())
        code = CAPTURE_UNSUPPORTED;
    pinned_block *p = code ? NULL : calloc(1, sizeof *p);
    if (p && !(p->memory = aligned_alloc(ALIGN, (bytes + ALIGN) / ALIGN * ALIGN))) {
        free(p);
        p = NULL;
    }
    if (p) {
        p->bytes = bytes;
        p->next = pinned;
        pinned = p;
        memset(p->memory, POISON, bytes);
        *memory = p->memory;
    } else if (!code) {
        code = MEMORY_ALLOCATION;
    }
    trace("malloc_host %zu", bytes);
    return leave(code);
}

EXPORT unsigned cudaFreeHost(void *memory)
{
    unsigned code = enter();
    if (!memory)
        return leave(code);
    if (!code && queue_is_gathering())
        return leave(CAPTURE_UNSUPPORTED);
    pinned_block **at = &pinned;
    while (*at && (*at)->memory != memory)
        at = &(*at)->next;
    pinned_block *p = *at;
    if (p) {
        queue_run_all();
        *at = p->next;
        free(p->memory);
        free(p);
    } else if (!code) {
        code = INVALID_VALUE;
    }
    trace("free_host");
    return leave(code);
}

bool memory_is_pinned(const void *p, uint64_t bytes)
{
    const unsigned char *at = p;
    for (const pinned_block *b = pinned; b; b = b->next)
        if (at >= b->memory && at + bytes <= b->memory + b->bytes)
            return true;
    return false;
}

uint64_t memory_leaks(uint64_t *ret_bytes)
{
    uint64_t count = nblocks;
    for (size_t k = 0; k < nblocks; k++)
        *ret_bytes += blocks[k].bytes;
    for (const pinned_block *b = pinned; b; b = b->next) {
        *ret_bytes += b->bytes;
        count++;
    }
    return count;
}
