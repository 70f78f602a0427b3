/* memory.c - the shadow device's memory: a region that the host cannot reach, given out first fit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 64 };

tutti_status shadow_map(device *d, tutti_error *err)
{
    const int reach = d->owner->unified ? PROT_READ | PROT_WRITE : PROT_NONE;
    void *memory =
        mmap(NULL, d->owner->bytes, reach, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return tutti_fail(err, TUTTI_E_NOMEM, "shadow: no memory for a device");
    d->memory = memory;
    return TUTTI_OK;
}

void shadow_unmap(device *d)
{
    (void)munmap(d->memory, d->owner->bytes);
    free(d->blocks);
}

bool shadow_owns(const device *d, const void *p)
{
    const uint64_t at = (uint64_t)((const unsigned char *)p - d->memory);
    if (!p || d->owner->unified)
        return true;
    for (size_t k = 0; k < d->nblocks; k++)
        if (at >= d->blocks[k].offset && at - d->blocks[k].offset < d->blocks[k].bytes)
            return true;
    return false;
}

void shadow_reach(const device *d, bool reachable)
{
    if (!d->owner->unified)
        (void)mprotect(d->memory, d->owner->bytes,
                       reachable ? PROT_READ | PROT_WRITE : PROT_NONE);
}

/* Number of the block before which there is room, or -1. */
static int64_t find_room(const device *d, uint64_t bytes, uint64_t *ret_offset)
{
    uint64_t end = 0;
    for (size_t k = 0; k <= d->nblocks; k++) {
        const uint64_t next = k < d->nblocks ? d->blocks[k].offset : d->owner->bytes;
        if (next - end >= bytes) {
            *ret_offset = end;
            return (int64_t)k;
        }
        end = k < d->nblocks ? d->blocks[k].offset + d->blocks[k].bytes : end;
    }
    return -1;
}

tutti_status shadow_alloc(device *d, uint64_t bytes, void **ret_memory, tutti_error *err)
{
    const uint64_t all = d->owner->bytes;
    const uint64_t room = bytes > all ? bytes : (bytes + ALIGN) / ALIGN * ALIGN;
    uint64_t offset = 0, used = 0;
    int64_t at = find_room(d, room, &offset);
    if (at < 0) { /* a release may be waiting */
        shadow_work(d);
        at = find_room(d, room, &offset);
    }
    for (size_t k = 0; k < d->nblocks; k++)
        used += d->blocks[k].bytes;
    if (at < 0)
        return tutti_fail(err, TUTTI_E_NOMEM, "shadow: %llu bytes are wanted, %llu are free",
                          (unsigned long long)bytes, (unsigned long long)(all - used));
    block *blocks = realloc(d->blocks, (d->nblocks + 1) * sizeof *blocks);
    if (!blocks)
        return tutti_fail(err, TUTTI_E_NOMEM, "shadow: no memory for a block");
    d->blocks = blocks;
    memmove(blocks + at + 1, blocks + at, (d->nblocks - (size_t)at) * sizeof *blocks);
    blocks[at] = (block){offset, room};
    d->nblocks++;
    d->owner->counts.blocks++;
    shadow_reach(d, true);
    memset(d->memory + offset, 0, room);
    shadow_reach(d, false);
    *ret_memory = d->memory + offset;
    return TUTTI_OK;
}

void shadow_forget(device *d, const void *memory)
{
    const uint64_t offset = (uint64_t)((const unsigned char *)memory - d->memory);
    for (size_t k = 0; k < d->nblocks; k++) {
        if (d->blocks[k].offset != offset)
            continue;
        memmove(d->blocks + k, d->blocks + k + 1, (d->nblocks - k - 1) * sizeof *d->blocks);
        d->nblocks--;
        d->owner->counts.blocks--;
        return;
    }
}
