/* nccl_ranks.h - ranks as processes, each with the plugin nccl on a device of the stand-ins. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_NCCL_RANKS_H
#define TESTS_CUDA_NCCL_RANKS_H

#include "nccl_traces.h"
#include "plugin_check.h"
#include "tutti/device_collectives.h"
#include "tutti_host/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 3, SLOT = 1024 };

/* What ranks tell each other before the plugin connects them. */
typedef struct meeting {
    pthread_barrier_t barrier;
    char slots[SIZE][SLOT];
} meeting;

static meeting *met;
static const char *library = "libnccl.so.2";
static int on_cpu;
static int own_stream; /* operations follow one that the test makes */
typedef struct member {
    subject subject;
    const tutti_device_collectives_v1 *table;
    tutti_device device;
    void *stream; /* that operations follow; NULL: the device's own */
    int rank, size;
} member;

static inline void want(int condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "wrong: %s\n", what);
        _exit(1);
    }
}

static inline void want_ok(tutti_status s, const tutti_error *err)
{
    want(s == TUTTI_OK, err->text);
}

static inline tutti_status exchange(void *ctx, const void *mine, void *all, uint64_t bytes,
                                    tutti_error *err)
{
    const member *m = ctx;
    (void)err;
    want(bytes <= SLOT, "a record that is too long");
    memcpy(met->slots[m->rank], mine, bytes);
    (void)pthread_barrier_wait(&met->barrier);
    for (int r = 0; r < m->size; r++)
        memcpy((char *)all + (uint64_t)r * bytes, met->slots[r], bytes);
    (void)pthread_barrier_wait(&met->barrier);
    return TUTTI_OK;
}

static inline tutti_status join(member *m, int rank, int size, int device, uint32_t timeout_ms,
                                tutti_error *err)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_string(&g, "library", library);
    m->stream = NULL;
    m->rank = rank;
    m->size = size;
    want_ok(tutti_device_open(on_cpu ? tutti_device_cpu() : tutti_device_cuda(), NULL,
                              (uint32_t)device, &m->device, err),
            err);
    want_ok(subject_open(&m->subject, PLUGIN_PATH, TUTTI_KIND_COMM, "nccl", &g, NULL, err),
            err);
    m->table = subject_query(&m->subject, TUTTI_DEVICE_COLLECTIVES_V1);
    if (own_stream)
        want_ok(m->device.table->stream_create(m->device.device, &m->stream, err), err);
    const tutti_device_join how = {.struct_size = sizeof how,
                                   .timeout_ms = timeout_ms,
                                   .rank = rank,
                                   .size = size,
                                   .table = m->device.table,
                                   .device = m->device.device,
                                   .ctx = m,
                                   .exchange = exchange,
                                   .stream = m->stream};
    return m->table->join(m->subject.self, &how, err);
}

static inline void part(member *m, int failed)
{
    m->table->leave(m->subject.self, failed);
    subject_close(&m->subject);
    m->device.table->stream_destroy(m->device.device, m->stream);
    tutti_device_close(&m->device);
}

static inline void *take(member *m, uint64_t bytes)
{
    void *memory;
    tutti_error err = TUTTI_ERROR_INIT;
    want_ok(m->device.table->alloc(m->device.device, bytes, &memory, &err), &err);
    return memory;
}

static inline void give_back(member *m, void *memory)
{
    m->device.table->release(m->device.device, memory);
}

static inline void put(member *m, void *to, const void *from, uint64_t bytes)
{
    tutti_error err = TUTTI_ERROR_INIT;
    want_ok(m->device.table->copy(m->device.device, m->stream, to, from, bytes,
                                  TUTTI_COPY_TO_DEVICE, &err),
            &err);
}

static inline void fetch(member *m, void *to, const void *from, uint64_t bytes)
{
    tutti_error err = TUTTI_ERROR_INIT;
    want_ok(m->device.table->copy(m->device.device, m->stream, to, from, bytes,
                                  TUTTI_COPY_FROM_DEVICE, &err),
            &err);
}

static inline void set_environment(const char *cuda, const char *nccl)
{
    ck_assert_int_eq(setenv("TUTTI_CUDA_STANDIN", cuda, 1), 0);
    ck_assert_int_eq(setenv("TUTTI_NCCL_STANDIN", nccl, 1), 0);
    (void)snprintf(folder, sizeof folder, "/tmp/tutti_nccl_test_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(setenv("TMPDIR", folder, 1), 0);
}

/* Runs `body` as every rank of a world on stand-ins with these settings; all of them end well. */
static inline void world(int size, void (*body)(int rank, int size), const char *cuda,
                         const char *nccl)
{
    pthread_barrierattr_t shared;
    pid_t ranks[SIZE];
    char path[96];
    set_environment(cuda, nccl);
    met = mmap(NULL, sizeof *met, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(met != MAP_FAILED);
    (void)pthread_barrierattr_init(&shared);
    (void)pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    (void)pthread_barrier_init(&met->barrier, &shared, (unsigned)size);
    for (int r = 0; r < size; r++) {
        trace_path(path, r);
        ck_assert_int_eq(setenv("TUTTI_NCCL_TRACE", path, 1), 0);
        ranks[r] = fork();
        ck_assert_int_ge(ranks[r], 0);
        if (ranks[r] == 0) {
            (void)alarm(60);
            body(r, size);
            exit(0); /* the stand-in then tells what was not given back */
        }
    }
    for (int r = 0; r < size; r++) {
        int status = -1;
        ck_assert_int_eq(waitpid(ranks[r], &status, 0), ranks[r]);
        ck_assert_msg(status == 0, "rank %d has ended with status %d", r, status);
    }
}

#endif
