/* cudart.h - the part of the CUDA runtime that the host calls, declared here: no CUDA headers needed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DEVICE_CUDA_CUDART_H
#define HOST_DEVICE_CUDA_CUDART_H

#include <stddef.h>
#include <stdint.h>

/* Names and values are NVIDIA's (CUDA 12.8 and 13); tests/devices/cuda holds them against its header.
 * Enums are passed as unsigned int, which is what they are to a C compiler. */
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;
struct cudaGraphEdgeData_st;
struct cudaGraphNodeParams; /* of a conditional node: a cudart_condition */
struct cudaFuncAttributes;  /* never longer than CUDART_FUNC_BYTES */
struct CUlib_st;
struct CUkern_st;
struct cudaDeviceProp; /* begins with char name[256]; never longer than CUDART_PROP_BYTES */
#ifndef CUDART_HAS_DIM3
struct dim3 {
    unsigned int x, y, z;
};
#endif

enum {
    CUDART_SUCCESS = 0,
    CUDART_INVALID_VALUE = 1, /* cudaFuncGetParamInfo: there is no such argument */
    CUDART_NO_MEMORY = 2,
    CUDART_INSUFFICIENT_DRIVER = 35,
    CUDART_NO_DEVICE = 100,
    CUDART_NO_KERNEL_IMAGE = 209,
    CUDART_SYMBOL_NOT_FOUND = 500,
    CUDART_NOT_READY = 600,
    CUDART_ILLEGAL_ADDRESS = 700,
    CUDART_NOT_SUPPORTED = 801,
    CUDART_CAPTURE_INVALIDATED = 901,
};
enum {
    CUDART_TO_DEVICE = 1, /* cudaMemcpyKind */
    CUDART_TO_HOST = 2,
    CUDART_ON_DEVICE = 3,
};
enum {
    CUDART_ATTR_MULTIPROCESSORS = 16, /* cudaDeviceAttr */
    CUDART_ATTR_MAJOR = 75,
    CUDART_ATTR_MINOR = 76,
    CUDART_ATTR_SHARED_OPTIN = 97,
};
enum {
    CUDART_STREAM_NON_BLOCKING = 1,
    CUDART_EVENT_NO_TIMING = 2,
    CUDART_CAPTURE_THREAD_LOCAL = 1, /* cudaStreamCaptureMode */
    CUDART_FUNC_DYNAMIC_SHARED = 8,  /* cudaFuncAttribute */
    CUDART_PROP_BYTES = 4096,
    CUDART_FUNC_BYTES = 1024,
    CUDART_CAPTURE_ACTIVE = 1,       /* cudaStreamCaptureStatus */
    CUDART_SET_DEPENDENCIES = 1,     /* cudaStreamUpdateCaptureDependenciesFlags */
    CUDART_NODE_CONDITIONAL = 13,    /* cudaGraphNodeType */
    CUDART_CONDITION_IF = 0,         /* cudaGraphConditionalNodeType */
    CUDART_CONDITION_DRIVER = 12080, /* where "if" has an "else" */
};

/* cudaGraphNodeParams of a node that has one of two graphs done. */
typedef struct cudart_condition {
    int type; /* CUDART_NODE_CONDITIONAL */
    int zeros[3];
    unsigned long long handle;
    int kind; /* CUDART_CONDITION_IF */
    unsigned int size;
    struct CUgraph_st **bodies; /* the runtime's: [0] of "if", [1] of "else" */
    long long more_zeros[27];
} cudart_condition;

/* X(type of the result, name, arguments).  Of types a pointer's is written out.  A stream of NULL is
 * never passed; `func` of cudaFunc* and cudaLaunchKernel is a struct CUkern_st *. */
#define CUDART_CALLS(X)                                                                        \
    X(const char *, cudaGetErrorName, (unsigned int error))                                    \
    X(const char *, cudaGetErrorString, (unsigned int error))                                  \
    X(unsigned int, cudaGetLastError, (void))                                                  \
    X(unsigned int, cudaDriverGetVersion, (int *version))                                      \
    X(unsigned int, cudaRuntimeGetVersion, (int *version))                                     \
    X(unsigned int, cudaGetDeviceCount, (int *count))                                          \
    X(unsigned int, cudaGetDeviceProperties, (struct cudaDeviceProp * prop, int device))       \
    X(unsigned int, cudaDeviceGetAttribute, (int *value, unsigned int attr, int device))       \
    X(unsigned int, cudaSetDevice, (int device))                                               \
    X(unsigned int, cudaDeviceSynchronize, (void))                                             \
    X(unsigned int, cudaMemGetInfo, (size_t * unused, size_t * total))                         \
    X(unsigned int, cudaMalloc, (void **memory, size_t bytes))                                 \
    X(unsigned int, cudaFree, (void *memory))                                                  \
    X(unsigned int, cudaMallocHost, (void **memory, size_t bytes))                             \
    X(unsigned int, cudaFreeHost, (void *memory))                                              \
    X(unsigned int, cudaMemcpyAsync,                                                           \
      (void *to, const void *from, size_t bytes, unsigned int kind,                            \
       struct CUstream_st *stream))                                                            \
    X(unsigned int, cudaMemsetAsync,                                                           \
      (void *memory, int byte, size_t bytes, struct CUstream_st *stream))                      \
    X(unsigned int, cudaStreamCreateWithFlags,                                                 \
      (struct CUstream_st * *stream, unsigned int flags))                                      \
    X(unsigned int, cudaStreamDestroy, (struct CUstream_st * stream))                          \
    X(unsigned int, cudaStreamSynchronize, (struct CUstream_st * stream))                      \
    X(unsigned int, cudaStreamWaitEvent,                                                       \
      (struct CUstream_st * stream, struct CUevent_st * event, unsigned int flags))            \
    X(unsigned int, cudaStreamBeginCapture, (struct CUstream_st * stream, unsigned int mode))  \
    X(unsigned int, cudaStreamEndCapture,                                                      \
      (struct CUstream_st * stream, struct CUgraph_st * *graph))                               \
    X(unsigned int, cudaEventCreateWithFlags,                                                  \
      (struct CUevent_st * *event, unsigned int flags))                                        \
    X(unsigned int, cudaEventDestroy, (struct CUevent_st * event))                             \
    X(unsigned int, cudaEventRecord, (struct CUevent_st * event, struct CUstream_st * stream)) \
    X(unsigned int, cudaEventQuery, (struct CUevent_st * event))                               \
    X(unsigned int, cudaEventSynchronize, (struct CUevent_st * event))                         \
    X(unsigned int, cudaEventElapsedTime,                                                      \
      (float *ms, struct CUevent_st *from, struct CUevent_st *to))                             \
    X(unsigned int, cudaLaunchHostFunc,                                                        \
      (struct CUstream_st * stream, void (*call)(void *data), void *data))                     \
    X(unsigned int, cudaGraphInstantiate,                                                      \
      (struct CUgraphExec_st * *exec, struct CUgraph_st * graph, unsigned long long flags))    \
    X(unsigned int, cudaGraphGetNodes,                                                         \
      (struct CUgraph_st * graph, struct CUgraphNode_st * *nodes, size_t * count))             \
    X(unsigned int, cudaGraphLaunch,                                                           \
      (struct CUgraphExec_st * exec, struct CUstream_st * stream))                             \
    X(unsigned int, cudaGraphDestroy, (struct CUgraph_st * graph))                             \
    X(unsigned int, cudaGraphExecDestroy, (struct CUgraphExec_st * exec))                      \
    X(unsigned int, cudaLibraryLoadData,                                                       \
      (struct CUlib_st * *library, const void *code, unsigned int *jit, void **jit_values,     \
       unsigned int njit, unsigned int *options, void **option_values, unsigned int noptions)) \
    X(unsigned int, cudaLibraryUnload, (struct CUlib_st * library))                            \
    X(unsigned int, cudaLibraryGetKernel,                                                      \
      (struct CUkern_st * *kernel, struct CUlib_st * library, const char *name))               \
    X(unsigned int, cudaFuncGetParamInfo,                                                      \
      (const void *func, size_t index, size_t *offset, size_t *size))                          \
    X(unsigned int, cudaFuncGetAttributes,                                                     \
      (struct cudaFuncAttributes * attributes, const void *func))                              \
    X(unsigned int, cudaFuncSetAttribute, (const void *func, unsigned int attr, int value))    \
    X(unsigned int, cudaLaunchKernel,                                                          \
      (const void *func, struct dim3 grid, struct dim3 block, void **args, size_t shared,      \
       struct CUstream_st *stream))

/* X(type of the result, name, name in CUDA 12, arguments): what graphs with conditional nodes take.  Whether
 * they are there is `conditions`. */
#define CUDART_CONDITION_CALLS(X)                                                              \
    X(unsigned int, cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_v3,                     \
      (struct CUstream_st * stream, unsigned int *status, unsigned long long *id,              \
       struct CUgraph_st **graph, struct CUgraphNode_st *const **nodes,                        \
       const struct cudaGraphEdgeData_st **edges, size_t *count))                              \
    X(unsigned int, cudaStreamUpdateCaptureDependencies,                                       \
      cudaStreamUpdateCaptureDependencies_v2,                                                  \
      (struct CUstream_st * stream, struct CUgraphNode_st * *nodes,                            \
       const struct cudaGraphEdgeData_st *edges, size_t count, unsigned int flags))            \
    X(unsigned int, cudaStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph,              \
      (struct CUstream_st * stream, struct CUgraph_st * graph,                                 \
       struct CUgraphNode_st *const *nodes, const struct cudaGraphEdgeData_st *edges,          \
       size_t count, unsigned int mode))                                                       \
    X(unsigned int, cudaGraphAddNode, cudaGraphAddNode_v2,                                     \
      (struct CUgraphNode_st * *node, struct CUgraph_st * graph,                               \
       struct CUgraphNode_st *const *after, const struct cudaGraphEdgeData_st *edges,          \
       size_t count, struct cudaGraphNodeParams *params))                                      \
    X(unsigned int, cudaGraphConditionalHandleCreate, cudaGraphConditionalHandleCreate,        \
      (unsigned long long *handle, struct CUgraph_st *graph, unsigned int value,               \
       unsigned int flags))

/* A runtime that exports this needs no device code, as the tests' stand-in: cudaLibraryLoadData then
 * gets the image's name ("kernels/exp") in the place of `code`. */
#define CUDART_STANDIN "tutti_cuda_standin"
/* Instead of device code, for the stand-in: "standin:" and the path of a library of emulated kernels. */
#define CUDART_STANDIN_FILE "standin:"

#define CUDART_MEMBER(type, name, args) type(*name) args;
#define CUDART_MEMBER_IF_THERE(type, name, older, args) type(*name) args;
typedef struct cudart {
    CUDART_CALLS(CUDART_MEMBER)
    CUDART_CONDITION_CALLS(CUDART_MEMBER_IF_THERE)
    int conditions;
    int standin;
} cudart;
#undef CUDART_MEMBER
#undef CUDART_MEMBER_IF_THERE

#endif
