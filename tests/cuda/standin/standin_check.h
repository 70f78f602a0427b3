/* standin_check.h - what tests of the stand-in share: its calls as the host declares them, small helpers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_STANDIN_CHECK_H
#define TESTS_CUDA_STANDIN_CHECK_H

#include "standin.h"
#include "tutti_check.h"

#include <stdio.h>
#include <unistd.h>

#define CUDART_HAS_DIM3
#include "device/cuda/cudart.h"

/* As the host declares them, so that the linker finds each. */
#define DECLARE(type, name, args) extern type name args;
CUDART_CALLS(DECLARE)
#define DECLARE_IF_THERE(type, name, older, args) extern type name args;
CUDART_CONDITION_CALLS(DECLARE_IF_THERE)

#define ok(call) ck_assert_uint_eq((call), OK)

static char trace_path[] = "/tmp/tutti_standin_XXXXXX";

static inline void set_up(const char *wanted)
{
    const int file = mkstemp(trace_path);
    ck_assert_int_ge(file, 0);
    (void)close(file);
    ck_assert_int_eq(setenv("TUTTI_CUDA_TRACE", trace_path, 1), 0);
    ck_assert_int_eq(setenv("TUTTI_CUDA_STANDIN", wanted, 1), 0);
}

static inline void read_trace(char *ret_text, size_t size)
{
    FILE *f = fopen(trace_path, "re");
    ck_assert_ptr_nonnull(f);
    ret_text[fread(ret_text, 1, size - 1, f)] = 0;
    (void)fclose(f);
    (void)unlink(trace_path);
}

static inline stream *make_stream(void)
{
    stream *s = NULL;
    ok(cudaStreamCreateWithFlags(&s, CUDART_STREAM_NON_BLOCKING));
    return s;
}

static inline void *take(size_t bytes)
{
    void *p = NULL;
    ok(cudaMalloc(&p, bytes));
    return p;
}

static inline void *pin(size_t bytes)
{
    void *p = NULL;
    ok(cudaMallocHost(&p, bytes));
    return p;
}

static inline struct CUkern_st *kernel(const char *name)
{
    static struct CUlib_st *library;
    struct CUkern_st *k = NULL;
    if (!library)
        ok(cudaLibraryLoadData(&library, "test", NULL, NULL, 0, NULL, NULL, 0));
    ok(cudaLibraryGetKernel(&k, library, name));
    return k;
}

static inline unsigned launch(const char *name, unsigned threads, void *argument, stream *s)
{
    return cudaLaunchKernel(kernel(name), (struct dim3){1, 1, 1}, (struct dim3){threads, 1, 1},
                            (void *[]){&argument}, 0, s);
}

/* Onto the device, as a first launch would. */
static inline void bring(const char *name)
{
    char attributes[CUDART_FUNC_BYTES];
    ok(cudaFuncGetAttributes((struct cudaFuncAttributes *)(void *)attributes, kernel(name)));
}

#endif
