/* cudart_agrees.c - our declarations of the CUDA runtime held against NVIDIA's; compiled, never run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime_api.h>

#define CUDART_HAS_DIM3
#include "device/cuda/cudart.h"

/* An assignment needs compatible types, and an enum is compatible with unsigned int in C. */
#define TAKE(type, name, args) .name = name,
#define TAKE_IF_THERE(type, name, older, args) .name = name,
const cudart taken = {CUDART_CALLS(TAKE) CUDART_CONDITION_CALLS(TAKE_IF_THERE).standin = 0};

#define SAME(ours, theirs)                                                                     \
    _Static_assert((int)(ours) == (int)(theirs), #ours " is not " #theirs)
SAME(CUDART_SUCCESS, cudaSuccess);
SAME(CUDART_INVALID_VALUE, cudaErrorInvalidValue);
SAME(CUDART_NO_MEMORY, cudaErrorMemoryAllocation);
SAME(CUDART_INSUFFICIENT_DRIVER, cudaErrorInsufficientDriver);
SAME(CUDART_NO_DEVICE, cudaErrorNoDevice);
SAME(CUDART_NO_KERNEL_IMAGE, cudaErrorNoKernelImageForDevice);
SAME(CUDART_SYMBOL_NOT_FOUND, cudaErrorSymbolNotFound);
SAME(CUDART_NOT_READY, cudaErrorNotReady);
SAME(CUDART_ILLEGAL_ADDRESS, cudaErrorIllegalAddress);
SAME(CUDART_NOT_SUPPORTED, cudaErrorNotSupported);
SAME(CUDART_CAPTURE_INVALIDATED, cudaErrorStreamCaptureInvalidated);
SAME(CUDART_TO_DEVICE, cudaMemcpyHostToDevice);
SAME(CUDART_TO_HOST, cudaMemcpyDeviceToHost);
SAME(CUDART_ON_DEVICE, cudaMemcpyDeviceToDevice);
SAME(CUDART_ATTR_MULTIPROCESSORS, cudaDevAttrMultiProcessorCount);
SAME(CUDART_ATTR_MAJOR, cudaDevAttrComputeCapabilityMajor);
SAME(CUDART_ATTR_MINOR, cudaDevAttrComputeCapabilityMinor);
SAME(CUDART_ATTR_SHARED_OPTIN, cudaDevAttrMaxSharedMemoryPerBlockOptin);
SAME(CUDART_STREAM_NON_BLOCKING, cudaStreamNonBlocking);
SAME(CUDART_EVENT_NO_TIMING, cudaEventDisableTiming);
SAME(CUDART_CAPTURE_THREAD_LOCAL, cudaStreamCaptureModeThreadLocal);
SAME(CUDART_FUNC_DYNAMIC_SHARED, cudaFuncAttributeMaxDynamicSharedMemorySize);
SAME(CUDART_CAPTURE_ACTIVE, cudaStreamCaptureStatusActive);
SAME(CUDART_SET_DEPENDENCIES, cudaStreamSetCaptureDependencies);
SAME(CUDART_NODE_CONDITIONAL, cudaGraphNodeTypeConditional);
SAME(CUDART_CONDITION_IF, cudaGraphCondTypeIf);

#define SAME_PLACE(ours, theirs)                                                               \
    SAME(offsetof(cudart_condition, ours), offsetof(struct cudaGraphNodeParams, theirs))
SAME(sizeof(cudart_condition), sizeof(struct cudaGraphNodeParams));
SAME_PLACE(type, type);
SAME_PLACE(handle, conditional.handle);
SAME_PLACE(kind, conditional.type);
SAME_PLACE(size, conditional.size);
SAME_PLACE(bodies, conditional.phGraph_out);
_Static_assert(sizeof(struct cudaFuncAttributes) <= CUDART_FUNC_BYTES,
               "a function's attributes are longer");

_Static_assert(offsetof(struct cudaDeviceProp, name) == 0,
               "a device's properties begin otherwise");
_Static_assert(sizeof((struct cudaDeviceProp *)0)->name == 256,
               "a device's name is not 256 long");
_Static_assert(sizeof(struct cudaDeviceProp) <= CUDART_PROP_BYTES, "its properties are longer");
