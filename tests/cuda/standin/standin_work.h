/* standin_work.h - how stand-ins of other libraries put work on a stream of the stand-in for libcudart. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_STANDIN_WORK_H
#define TESTS_CUDA_STANDIN_WORK_H

#include <stddef.h>
#include <stdint.h>

struct CUstream_st;

/* A library's work, done when the stream comes to it, by a graph each time that it runs; only then can
 * device memory be reached. */
typedef struct standin_call {
    void (*run)(void *data);
    /* Copied, `bytes` of it; must be whole in itself. */
    const void *data;
    uint64_t bytes;
    /* For the trace: "matmul 64x64x64 f32 bias". */
    const char *what;
    /* Whether `run` may go on, asked again and again once the stream has come to it; device memory can be reached.  NULL: at
     * once.  Not of work that is gathered. */
    int (*ready)(void *data);
} standin_call;

/* libcudart.so.13 of the tests exports this; a real one does not. */
typedef struct standin_hooks {
    uint32_t struct_size;
    uint32_t reserved;
    /* 0, or one of NVIDIA's errors. */
    unsigned (*enqueue)(struct CUstream_st *stream, const standin_call *call);
    /* Whether all of [p, p + bytes) is in one block of device memory. */
    int (*is_device)(const void *p, uint64_t bytes);
    /* From within `run`, or outside of the runtime's calls: the device fails, with this sentence. */
    void (*fail)(const char *sentence);
    /* Whether the stream gathers work for a graph. */
    int (*is_captured)(const struct CUstream_st *stream);
} standin_hooks;

extern const standin_hooks tutti_cuda_standin;

#endif
