/* device.h - an opened device of any backend, for programs that embed the host. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_HOST_DEVICE_H
#define TUTTI_HOST_DEVICE_H

#include "tutti/device.h"

TUTTI_C_BEGIN
#pragma GCC visibility push(default)

/* Plain data, borrowed by whoever uses it. */
typedef struct tutti_device {
    const tutti_device_v1 *table;
    void *device; /* what the table's calls want */
    tutti_device_info info;
    int32_t
        number; /* what tensors on it carry: TUTTI_DEVICE_CPU for the host's memory, else its index */
    int32_t reserved;
} tutti_device;

/* Opens number `index` of a backend, whose table and self they are.  Errors, beside the backend's
 * own: E_RANGE there are not so many; E_VERSION the table lacks calls; E_ARG what it says of the device
 * cannot be.  [control] */
TUTTI_NODISCARD tutti_status tutti_device_open(const tutti_device_v1 *table, void *self,
                                               uint32_t index, tutti_device *ret_device,
                                               tutti_error *err);
void tutti_device_close(tutti_device *d); /* [control]; once, or never opened and zero */

/* The host's own backend: one device, the CPU; its self is NULL.  [any] */
const tutti_device_v1 *tutti_device_cpu(void);
/* What a run wants of a GPU.  -1: as the environment has it, TUTTI_CUDA_GRAPHS and TUTTI_CUDA_ALLOW. */
typedef struct tutti_cuda_settings {
    uint64_t memory_limit; /* bytes that may be taken at a time; 0: as many as there are */
    int32_t graphs;        /* 0: every launch on its own */
    int32_t tf32;          /* 1: TUTTI_CUDA_TF32 */
    int32_t unordered;     /* 1: TUTTI_CUDA_UNORDERED */
    int32_t require;       /* 1: TUTTI_CUDA_LIBRARIES */
    int32_t first;         /* 1: libraries' first algorithms; what was measured is not read */
} tutti_cuda_settings;
/* NVIDIA's GPUs, over the CUDA runtime, which is loaded when it is first asked for something; its
 * self is a const tutti_cuda_settings *, or NULL: all as the environment has it.  Where none can be used count is 0,
 * and describe says why: E_NOTFOUND there is no runtime, driver or GPU; another status: there may be a GPU.  [any] */
const tutti_device_v1 *tutti_device_cuda(void);

/* Whether host code may use pointers into the device's memory, after a synchronise if the device is
 * asynchronous. */
static inline int tutti_device_is_host(const tutti_device *d)
{
    return (d->info.flags & TUTTI_DEVICE_HOST_MEMORY) != 0;
}

#pragma GCC visibility pop
TUTTI_C_END
#endif
