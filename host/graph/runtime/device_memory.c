/* device_memory.c - taking, copying and giving back memory of the host or a device. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/device_memory.h"
#include "graph/runtime/host_memory.h"

#include <stdlib.h>
#include <string.h>

void *device_try_alloc(const tutti_device *d, uint64_t bytes, tutti_error *err)
{
    void *memory = d ? NULL : host_memory_alloc(bytes);
    if (!d && !memory && err)
        err->status = TUTTI_E_NOMEM;
    if (d && d->table->alloc(d->device, bytes, &memory, err))
        return NULL;
    return memory;
}

void *device_alloc(const tutti_device *d, uint64_t bytes)
{
    return device_try_alloc(d, bytes, NULL);
}

void device_free(const tutti_device *d, void *memory)
{
    if (d)
        d->table->release(d->device, memory);
    else
        free(memory);
}

static bool pins(const tutti_device *d)
{
    return d && TUTTI_HAS(d->table, tutti_device_v1, host_release) && d->table->host_alloc &&
           d->table->host_release;
}

void *device_alloc_pinned(const tutti_device *d, uint64_t bytes)
{
    void *memory = NULL;
    if (!pins(d))
        return host_memory_alloc(bytes);
    return d->table->host_alloc(d->device, bytes, &memory, NULL) == TUTTI_OK ? memory : NULL;
}

void device_free_pinned(const tutti_device *d, void *memory)
{
    if (pins(d))
        d->table->host_release(d->device, memory);
    else
        free(memory);
}

tutti_status device_copy(const tutti_device *d, void *to, const void *from, uint64_t bytes,
                         int32_t how, tutti_error *err)
{
    if (d && !tutti_device_is_host(d))
        return d->table->copy(d->device, NULL, to, from, bytes, how, err);
    if (bytes)
        memcpy(to, from, bytes);
    return TUTTI_OK;
}

uint64_t device_memory_available(const tutti_device *d)
{
    uint64_t unused = UINT64_MAX, total = 0;
    if (!d)
        return host_memory_available();
    return d->table->memory(d->device, &unused, &total, NULL) == TUTTI_OK ? unused : UINT64_MAX;
}
