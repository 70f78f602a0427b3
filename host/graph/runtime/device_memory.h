/* device_memory.h - where a net's numbers live: the host's memory, or that of a device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_RUNTIME_DEVICE_MEMORY_H
#define HOST_GRAPH_RUNTIME_DEVICE_MEMORY_H

#include "tutti_host/device.h"

#include <stdbool.h>

/* In all of these `d` may be NULL: the host's memory, used at once. */

/* Zeroed and 64-byte aligned; NULL when out of memory. */
void *device_alloc(const tutti_device *d, uint64_t bytes);
/* The same with the device's reason; the host's memory gives none but the status. */
void *device_try_alloc(const tutti_device *d, uint64_t bytes, tutti_error *err);
void device_free(const tutti_device *d, void *memory); /* NULL is allowed */
/* Memory of the host's for copies to and from `d` that nobody waits for. */
void *device_alloc_pinned(const tutti_device *d, uint64_t bytes);
void device_free_pinned(const tutti_device *d, void *memory); /* NULL is allowed */
/* `how` is TUTTI_COPY_*. */
TUTTI_NODISCARD tutti_status device_copy(const tutti_device *d, void *to, const void *from,
                                         uint64_t bytes, int32_t how, tutti_error *err);
/* Bytes that can be had; UINT64_MAX when that is not known. */
uint64_t device_memory_available(const tutti_device *d);

/* Whether the host may read and write there. */
static inline bool device_is_host(const tutti_device *d)
{
    return !d || tutti_device_is_host(d);
}

/* What tensors there carry. */
static inline int32_t device_number(const tutti_device *d)
{
    return d ? d->number : TUTTI_DEVICE_CPU;
}

/* Whether all of these TUTTI_DEVICE_* hold; none do of the host's memory. */
static inline bool device_can(const tutti_device *d, uint32_t flags)
{
    return d && (d->info.flags & flags) == flags;
}

/* Whether calls return before their work is done. */
static inline bool device_is_async(const tutti_device *d)
{
    return device_can(d, TUTTI_DEVICE_ASYNC);
}

#endif
