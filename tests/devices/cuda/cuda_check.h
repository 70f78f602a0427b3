/* cuda_check.h - the CUDA backend on the stand-in for its runtime, and what that has recorded; or on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_CHECK_H
#define CUDA_CHECK_H

#include "tutti_check.h"
#include "tutti_host/device.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char trace_path[64];

/* Whether the runtime may be NVIDIA's, as tools/gpu says: it takes no settings, and tells nobody its calls. */
static inline bool on_a_gpu(void)
{
    const char *device = getenv("TUTTI_TEST_DEVICE");
    return device && strcmp(device, "cuda") == 0;
}

/* Before the runtime is loaded: what it is like ("memory=1000000"), and where it tells its calls. */
static inline void stand_in(const char *settings)
{
    (void)snprintf(trace_path, sizeof trace_path, "/tmp/tutti_cuda_trace_XXXXXX");
    const int file = mkstemp(trace_path);
    ck_assert_int_ge(file, 0);
    (void)close(file);
    ck_assert_int_eq(setenv("TUTTI_CUDA_TRACE", trace_path, 1), 0);
    ck_assert_int_eq(setenv("TUTTI_CUDA_STANDIN", settings, 1), 0);
}

static inline tutti_device open_cuda(const char *settings)
{
    tutti_device d;
    tutti_error err = TUTTI_ERROR_INIT;
    stand_in(settings);
    ck_assert_ok(tutti_device_open(tutti_device_cuda(), NULL, 0, &d, &err), err);
    return d;
}

/* Lines of the trace that begin with `what`. */
static inline int traced(const char *what)
{
    char line[512];
    int n = 0;
    FILE *f = fopen(trace_path, "re");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f))
        n += strncmp(line, what, strlen(what)) == 0;
    (void)fclose(f);
    return n;
}

/* How many calls the stand-in has told. */
static inline void ck_traced(const char *what, int n)
{
    if (!on_a_gpu())
        ck_assert_int_eq(traced(what), n);
}

/* Nothing of it is left when the process ends (leaks=1 in the settings). */
static inline void close_cuda(tutti_device *d)
{
    tutti_device_close(d);
    (void)unlink(trace_path);
}

static inline void *take(const tutti_device *d, uint64_t bytes)
{
    void *memory = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(d->table->alloc(d->device, bytes, &memory, &err), err);
    ck_assert_uint_eq((uintptr_t)memory % d->info.alignment, 0);
    return memory;
}

static inline void move(const tutti_device *d, void *to, const void *from, uint64_t bytes,
                        int32_t how)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(d->table->copy(d->device, NULL, to, from, bytes, how, &err), err);
}

static inline void wait_for(const tutti_device *d)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(d->table->synchronise(d->device, NULL, &err), err);
}

#endif
