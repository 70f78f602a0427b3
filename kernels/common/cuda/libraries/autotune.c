/* autotune.c - autotuning on a GPU: algorithms in turns, between events of the runtime. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/libraries/autotune.h"
#include "common/cuda/libraries/runtime.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { ROUNDS = 3, RUNS = 4, FILL = 0x3C }; /* small numbers in F32 and BF16, near one in F16 */
enum { L2_BYTES_ATTRIBUTE = 38, L2_BYTES_UNKNOWN = 64 << 20 };
enum { HOLD_MOST_MS = 20 };
#define WORTH 0.97
#define LONG_MS 2.0 /* what takes longer is run once a round */

/* The stream stands still until the host has enqueued what is measured, so that the time between two
 * events is the GPU's and not the host's. */
typedef struct hold {
    atomic_bool released;
} hold;

typedef struct measuring {
    cuda_runtime rt;
    const cuda_autotune *c;
    hold *hold;
    void *stream;
    void *from[RUNS], *to[RUNS];
    void *buffer[CUDA_BUFFERS_MOST];
    void *flush; /* as large as twice the L2 cache */
    uint64_t flush_bytes;
} measuring;

static double now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* A call that waits for the stream by itself would wait for ever: the hold has an end. */
static void wait_for_release(void *data)
{
    hold *h = data;
    const double end = now_ms() + HOLD_MOST_MS;
    while (!atomic_load(&h->released) && now_ms() < end)
        (void)sched_yield();
}

static bool enqueue(const measuring *m, uint32_t algorithm, uint32_t runs)
{
    bool good = true;
    for (uint32_t k = 0; k < runs && good; k++)
        good = !m->rt.fill(m->flush, 0, m->flush_bytes, m->stream) &&
               !m->rt.record(m->from[k], m->stream) &&
               m->c->run(m->c->self, algorithm, m->buffer, m->stream) &&
               !m->rt.record(m->to[k], m->stream);
    return good;
}

/* Milliseconds of the fastest of `runs` runs, each with a cold L2 cache; or a negative number. */
static double time_of(const measuring *m, uint32_t algorithm, uint32_t runs)
{
    double best = -1.0;
    atomic_store(&m->hold->released, false);
    bool good =
        !m->rt.host(m->stream, wait_for_release, m->hold) && enqueue(m, algorithm, runs);
    atomic_store(&m->hold->released, true);
    good = good && !m->rt.wait_event(m->to[runs - 1]);
    for (uint32_t k = 0; k < runs && good; k++) {
        float ms = -1.0f;
        good = !m->rt.elapsed(&ms, m->from[k], m->to[k]);
        if (good && (best < 0.0 || (double)ms < best))
            best = (double)ms;
    }
    return good ? best : -1.0;
}

static bool take_events(measuring *m)
{
    for (int k = 0; k < RUNS; k++)
        if (m->rt.event(&m->from[k], 0) || m->rt.event(&m->to[k], 0))
            return false;
    return true;
}

static bool take_flush(measuring *m)
{
    int device = 0, bytes = 0;
    if (m->rt.device(&device) || m->rt.attribute(&bytes, L2_BYTES_ATTRIBUTE, device) ||
        bytes <= 0)
        bytes = L2_BYTES_UNKNOWN;
    m->flush_bytes = 2 * (uint64_t)bytes;
    return !m->rt.alloc(&m->flush, m->flush_bytes);
}

static bool take_memory(measuring *m)
{
    if (!take_events(m) || !take_flush(m))
        return false;
    for (uint32_t k = 0; k < m->c->buffers; k++)
        if (m->c->bytes[k] && (m->rt.alloc(&m->buffer[k], m->c->bytes[k]) ||
                               m->rt.fill(m->buffer[k], FILL, m->c->bytes[k], m->stream)))
            return false;
    return true;
}

static void give_back(const measuring *m)
{
    for (uint32_t k = 0; k < m->c->buffers; k++)
        if (m->buffer[k])
            (void)m->rt.release(m->buffer[k]);
    if (m->flush)
        (void)m->rt.release(m->flush);
    for (int k = 0; k < RUNS; k++) {
        if (m->from[k])
            (void)m->rt.drop_event(m->from[k]);
        if (m->to[k])
            (void)m->rt.drop_event(m->to[k]);
    }
    (void)m->rt.last_error(); /* that there was no memory is nobody's concern */
}

/* Round 0 loads an algorithm's code, and finds out which algorithms cannot run and which take long. */
static void race(const measuring *m, double best[CUDA_MAX_ALGORITHMS])
{
    for (uint32_t k = 0; k < m->c->algorithms; k++)
        best[k] = time_of(m, k, 1);
    for (int round = 1; round <= ROUNDS; round++)
        for (uint32_t k = 0; k < m->c->algorithms; k++) {
            if (best[k] < 0.0)
                continue;
            const double ms = time_of(m, k, best[k] > LONG_MS ? 1 : RUNS);
            if (ms < 0.0 || round == 1 || ms < best[k])
                best[k] = ms;
        }
}

tutti_status cuda_autotune_run(const tutti_cuda_v1 *cuda, const cuda_autotune *c,
                               uint32_t *ret_algorithm)
{
    hold held;
    measuring m = {.c = c, .hold = &held, .stream = cuda->stream(cuda->ctx)};
    double best[CUDA_MAX_ALGORITHMS] = {0};
    uint32_t algorithm = 0;
    atomic_init(&held.released, true);
    if (cuda_runtime_load(cuda, &m.rt, NULL))
        return TUTTI_E_UNSUPPORTED;
    bool good = take_memory(&m);
    if (good)
        race(&m, best);
    good = good && best[0] >= 0.0;
    for (uint32_t k = 1; k < c->algorithms && good; k++)
        if (best[k] >= 0.0 && best[k] < WORTH * best[0] &&
            (!algorithm || best[k] < best[algorithm]))
            algorithm = k;
    give_back(&m);
    if (good)
        *ret_algorithm = algorithm;
    return good ? TUTTI_OK : TUTTI_E_UNSUPPORTED;
}
