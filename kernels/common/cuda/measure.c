/* measure.c - ways in turns, between events of the runtime's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/measure.h"
#include "common/cuda/symbols.h"

enum { ROUNDS = 5, FILL = 0x3C }; /* small numbers in F32 and BF16, near one in F16 */
#define WORTH 0.97

/* X(member, NVIDIA's name, arguments): all of them return a cudaError_t. */
#define RT_FUNCTIONS(X)                                                                        \
    X(alloc, cudaMalloc, (void **memory, size_t bytes))                                        \
    X(release, cudaFree, (void *memory))                                                       \
    X(fill, cudaMemsetAsync, (void *memory, int byte, size_t bytes, void *stream))             \
    X(last_error, cudaGetLastError, (void))                                                    \
    X(event, cudaEventCreateWithFlags, (void **event, unsigned flags))                         \
    X(drop_event, cudaEventDestroy, (void *event))                                             \
    X(record, cudaEventRecord, (void *event, void *stream))                                    \
    X(wait, cudaEventSynchronize, (void *event))                                               \
    X(elapsed, cudaEventElapsedTime, (float *ret_ms, void *from, void *to))

typedef struct runtime {
#define RT_MEMBER(member, name, args) unsigned(*member) args;
    RT_FUNCTIONS(RT_MEMBER)
#undef RT_MEMBER
} runtime;

static bool find_runtime(const tutti_cuda_v1 *cuda, runtime *rt)
{
    static const cuda_symbol functions[] = {
#define RT_ENTRY(member, name, args) {#name, offsetof(runtime, member)},
        RT_FUNCTIONS(RT_ENTRY)
#undef RT_ENTRY
    };
    return !cuda_symbols(cuda->ctx, cuda->symbol, "cudart", functions,
                         sizeof functions / sizeof *functions, rt, NULL);
}

typedef struct measuring {
    runtime rt;
    const cuda_contest *c;
    void *stream, *from, *to;
    void *buffer[CUDA_BUFFERS_MOST];
} measuring;

/* Milliseconds, or a negative number. */
static double time_of(const measuring *m, uint32_t way)
{
    float ms = -1.0f;
    const bool good = !m->rt.record(m->from, m->stream) &&
                      m->c->run(m->c->self, way, m->buffer, m->stream) &&
                      !m->rt.record(m->to, m->stream) && !m->rt.wait(m->to) &&
                      !m->rt.elapsed(&ms, m->from, m->to);
    return good ? (double)ms : -1.0;
}

static bool take_memory(measuring *m)
{
    if (m->rt.event(&m->from, 0) || m->rt.event(&m->to, 0))
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
    if (m->from)
        (void)m->rt.drop_event(m->from);
    if (m->to)
        (void)m->rt.drop_event(m->to);
    (void)m->rt.last_error(); /* that there was no memory is nobody's concern */
}

tutti_status cuda_fastest(const tutti_cuda_v1 *cuda, const cuda_contest *c, uint32_t *ret_way)
{
    measuring m = {.c = c, .stream = cuda->stream(cuda->ctx)};
    double best[CUDA_WAYS_MOST];
    uint32_t way = 0;
    if (!find_runtime(cuda, &m.rt))
        return TUTTI_E_UNSUPPORTED;
    bool good = take_memory(&m) && time_of(&m, 0) >= 0.0; /* the first run is for warmth */
    for (uint32_t k = 0; k < c->ways; k++)
        best[k] = -1.0;
    for (int round = 0; round <= ROUNDS && good; round++)
        for (uint32_t k = 0; k < c->ways; k++) {
            const double ms = round && best[k] < 0.0 ? -1.0 : time_of(&m, k);
            if (round < 2 || ms < best[k]) /* round 0 loads a way's code */
                best[k] = ms;
        }
    for (uint32_t k = 1; k < c->ways && good; k++)
        if (best[k] >= 0.0 && best[k] < WORTH * best[0] && (!way || best[k] < best[way]))
            way = k;
    give_back(&m);
    if (good)
        *ret_way = way;
    return good ? TUTTI_OK : TUTTI_E_UNSUPPORTED;
}
