/* runtime.h - the functions of the CUDA runtime that kernels call by themselves. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_LIBRARIES_RUNTIME_H
#define KERNELS_COMMON_CUDA_LIBRARIES_RUNTIME_H

#include "tutti/cuda.h"

#include <stddef.h>

enum { CUDA_COPY_TO_DEVICE = 1, CUDA_COPY_TO_HOST = 2 }; /* cudaMemcpyKind */

/* X(member, NVIDIA's name, arguments): all of them return a cudaError_t. */
#define CUDA_RUNTIME_FUNCTIONS(X)                                                              \
    X(alloc, cudaMalloc, (void **memory, size_t bytes))                                        \
    X(release, cudaFree, (void *memory))                                                       \
    X(copy, cudaMemcpy, (void *to, const void *from, size_t bytes, unsigned kind))             \
    X(fill, cudaMemsetAsync, (void *memory, int byte, size_t bytes, void *stream))             \
    X(last_error, cudaGetLastError, (void))                                                    \
    X(event, cudaEventCreateWithFlags, (void **event, unsigned flags))                         \
    X(drop_event, cudaEventDestroy, (void *event))                                             \
    X(record, cudaEventRecord, (void *event, void *stream))                                    \
    X(host, cudaLaunchHostFunc, (void *stream, void (*run)(void *data), void *data))           \
    X(device, cudaGetDevice, (int *ret_device))                                                \
    X(attribute, cudaDeviceGetAttribute, (int *ret_value, unsigned attribute, int device))     \
    X(wait_event, cudaEventSynchronize, (void *event))                                         \
    X(wait_stream, cudaStreamSynchronize, (void *stream))                                      \
    X(elapsed, cudaEventElapsedTime, (float *ret_ms, void *from, void *to))

typedef struct cuda_runtime {
#define CUDA_RUNTIME_MEMBER(member, name, args) unsigned(*member) args;
    CUDA_RUNTIME_FUNCTIONS(CUDA_RUNTIME_MEMBER)
#undef CUDA_RUNTIME_MEMBER
} cuda_runtime;

/* From the library that the host has loaded.  Errors: those of tutti_cuda_v1.symbol.  [control] */
TUTTI_NODISCARD tutti_status cuda_runtime_load(const tutti_cuda_v1 *cuda, cuda_runtime *ret,
                                               tutti_error *err);

#endif
