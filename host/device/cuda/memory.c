/* memory.c - memory of a GPU, pinned memory of the host, and copies between them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/device_calls.h"
#include "graph/runtime/host_memory.h"

#include <stdlib.h>
#include <string.h>

tutti_status cuda_memory(void *device, uint64_t *ret_free, uint64_t *ret_total,
                         tutti_error *err)
{
    const cuda_device *d = device;
    size_t unused = 0, total = 0;
    cuda_enter(d);
    const tutti_status s =
        cuda_check(d, d->rt->cudaMemGetInfo(&unused, &total), "its memory", err);
    const uint64_t limit = d->wanted.memory_limit, left = limit - d->heap.bytes;
    if (!s) {
        *ret_free = limit && left < unused ? left : unused;
        *ret_total = limit && limit < total ? limit : total;
    }
    return s;
}

static tutti_status no_memory(cuda_device *d, uint64_t bytes, tutti_error *err)
{
    uint64_t unused = 0, total = 0;
    char a[32], b[32], c[32];
    (void)d->rt->cudaGetLastError();
    const tutti_status s = cuda_memory(d, &unused, &total, err);
    return s ? s
             : tutti_fail(err, TUTTI_E_NOMEM, "%s: %s are wanted, %s of %s%s are free",
                          d->label, bytes_text(bytes, a, sizeof a),
                          bytes_text(unused, b, sizeof b), bytes_text(total, c, sizeof c),
                          d->wanted.memory_limit ? " that the run may take" : "");
}

/* Notes what is taken, where there is a limit. */
static tutti_status count_in(cuda_device *d, void *memory, uint64_t bytes, tutti_error *err)
{
    if (!d->wanted.memory_limit)
        return TUTTI_OK;
    memory_piece *p = malloc(sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to count what is taken", d->label);
    *p = (memory_piece){d->heap.pieces, memory, bytes};
    d->heap.pieces = p;
    d->heap.bytes += bytes;
    return TUTTI_OK;
}

static void count_out(cuda_device *d, const void *memory)
{
    memory_piece **at = &d->heap.pieces;
    while (*at && (*at)->memory != memory)
        at = &(*at)->next;
    memory_piece *p = *at;
    if (!p)
        return;
    *at = p->next;
    d->heap.bytes -= p->bytes;
    free(p);
}

tutti_status cuda_alloc(void *device, uint64_t bytes, void **ret_memory, tutti_error *err)
{
    cuda_device *d = device;
    void *memory = NULL;
    cuda_enter(d);
    if (d->wanted.memory_limit && bytes > d->wanted.memory_limit - d->heap.bytes)
        return no_memory(d, bytes, err);
    unsigned int code = d->rt->cudaMalloc(&memory, bytes ? bytes : 1);
    if (code == CUDART_NO_MEMORY)
        return no_memory(d, bytes, err);
    tutti_status s = cuda_check(d, code, "memory", err);
    if (s)
        return s;
    if ((s = count_in(d, memory, bytes, err))) {
        (void)d->rt->cudaFree(memory);
        return s;
    }
    code = d->rt->cudaMemsetAsync(memory, 0, bytes ? bytes : 1, d->streams.clearing);
    if (!code)
        code = d->rt->cudaStreamSynchronize(d->streams.clearing);
    if ((s = cuda_check(d, code, "clearing memory", err)))
        cuda_release(d, memory);
    else
        *ret_memory = memory;
    return s;
}

/* cudaFree waits for the work that may use it. */
void cuda_release(void *device, void *memory)
{
    cuda_device *d = device;
    if (!memory)
        return;
    cuda_enter(d);
    count_out(d, memory);
    (void)d->rt->cudaFree(memory);
}

tutti_status cuda_host_alloc(void *device, uint64_t bytes, void **ret_memory, tutti_error *err)
{
    const cuda_device *d = device;
    void *memory = NULL;
    char a[32];
    cuda_enter(d);
    const unsigned int code = d->rt->cudaMallocHost(&memory, bytes ? bytes : 1);
    if (code == CUDART_NO_MEMORY) {
        (void)d->rt->cudaGetLastError();
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no %s of pinned memory are left", d->label,
                          bytes_text(bytes, a, sizeof a));
    }
    const tutti_status s = cuda_check(d, code, "pinned memory", err);
    if (!s)
        *ret_memory = memory;
    return s;
}

void cuda_host_release(void *device, void *memory)
{
    const cuda_device *d = device;
    if (!memory)
        return;
    cuda_enter(d);
    (void)d->rt->cudaFreeHost(memory);
}

tutti_status cuda_pin(const cuda_device *d, uint64_t bytes, pinned *p, tutti_error *err)
{
    const tutti_status s =
        cuda_check(d, d->rt->cudaMallocHost(&p->memory, bytes), "pinned memory", err);
    return s ? s
             : cuda_check(d, d->rt->cudaEventCreateWithFlags(&p->done, CUDART_EVENT_NO_TIMING),
                          "an event", err);
}

void cuda_unpin(const cuda_device *d, pinned *p)
{
    if (p->memory)
        (void)d->rt->cudaFreeHost(p->memory);
    if (p->done)
        (void)d->rt->cudaEventDestroy(p->done);
    *p = (pinned){NULL, NULL};
}

static tutti_status make_smalls(cuda_device *d, tutti_error *err)
{
    small_copies *c = &d->staging.small;
    void *memory = NULL;
    tutti_status s =
        cuda_host_alloc(d, SMALL_GROUPS * SMALL_PLACES * SMALL_BYTES, &memory, err);
    c->memory = memory;
    for (int k = 0; k < SMALL_GROUPS && !s; k++)
        s = cuda_check(d, d->rt->cudaEventCreateWithFlags(&c->done[k], CUDART_EVENT_NO_TIMING),
                       "an event", err);
    if (s)
        cuda_forget_smalls(d);
    return s;
}

void cuda_forget_smalls(cuda_device *d)
{
    for (int k = 0; k < SMALL_GROUPS; k++)
        if (d->staging.small.done[k])
            (void)d->rt->cudaEventDestroy(d->staging.small.done[k]);
    if (d->staging.small.memory)
        (void)d->rt->cudaFreeHost(d->staging.small.memory);
    d->staging.small = (small_copies){.memory = NULL};
}

/* The event of a group stands for all copies in it, so these are of one stream. */
static unsigned int end_group(cuda_device *d)
{
    small_copies *c = &d->staging.small;
    const unsigned int code = d->rt->cudaEventRecord(c->done[c->group], c->on);
    c->group = (c->group + 1) % SMALL_GROUPS;
    c->used = 0;
    return code;
}

static tutti_status copy_small(cuda_device *d, stream *on, void *to, const void *from,
                               uint64_t bytes, tutti_error *err)
{
    small_copies *c = &d->staging.small;
    unsigned int code = CUDART_SUCCESS;
    tutti_status s = c->memory ? TUTTI_OK : make_smalls(d, err);
    if (s)
        return s;
    if (c->used && c->on != on)
        code = end_group(d);
    if (!code && !c->used)
        code = d->rt->cudaEventSynchronize(c->done[c->group]);
    if (!code) {
        unsigned char *place =
            c->memory + (size_t)(c->group * SMALL_PLACES + c->used++) * SMALL_BYTES;
        c->on = on;
        memcpy(place, from, bytes);
        code = d->rt->cudaMemcpyAsync(to, place, bytes, CUDART_TO_DEVICE, on);
    }
    if (!code && c->used == SMALL_PLACES)
        code = end_group(d);
    return cuda_check(d, code, "a copy to the device", err);
}

/* The caller's memory is free on return, but only pinned memory waits for the device. */
static tutti_status copy_in(cuda_device *d, stream *on, unsigned char *to,
                            const unsigned char *from, uint64_t bytes, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    while (bytes && !s) {
        pinned *p = &d->staging.large[d->staging.next++ % STAGES];
        const uint64_t n = bytes < STAGE_BYTES ? bytes : STAGE_BYTES;
        if (!p->done && (s = cuda_pin(d, STAGE_BYTES, p, err)))
            return s;
        unsigned int code = d->rt->cudaEventSynchronize(p->done);
        if (!code) {
            memcpy(p->memory, from, n);
            code = d->rt->cudaMemcpyAsync(to, p->memory, n, CUDART_TO_DEVICE, on);
        }
        if (!code)
            code = d->rt->cudaEventRecord(p->done, on);
        s = cuda_check(d, code, "a copy to the device", err);
        to += n;
        from += n;
        bytes -= n;
    }
    return s;
}

/* A piece comes in while the one before it is handed out. */
static tutti_status copy_out(cuda_device *d, stream *on, unsigned char *to,
                             const unsigned char *from, uint64_t bytes, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    uint64_t fetched = 0, out = 0;
    const pinned *before = NULL;
    while (out < bytes && !s) {
        pinned *p = &d->staging.large[d->staging.next++ % STAGES];
        const uint64_t left = bytes - fetched, n = left < STAGE_BYTES ? left : STAGE_BYTES;
        unsigned int code = CUDART_SUCCESS;
        if (n && !p->done && (s = cuda_pin(d, STAGE_BYTES, p, err)))
            return s;
        if (n && !(code = d->rt->cudaEventSynchronize(p->done)) &&
            !(code = d->rt->cudaMemcpyAsync(p->memory, from + fetched, n, CUDART_TO_HOST, on)))
            code = d->rt->cudaEventRecord(p->done, on);
        if (!code && before && fetched > out) {
            code = d->rt->cudaEventSynchronize(before->done);
            memcpy(to + out, before->memory, fetched - out);
            out = fetched;
        }
        fetched += n;
        before = p;
        s = cuda_check(d, code, "a copy from the device", err);
    }
    return s;
}

tutti_status cuda_copy(void *device, void *on, void *to, const void *from, uint64_t bytes,
                       int32_t how, tutti_error *err)
{
    cuda_device *d = device;
    stream *s = cuda_stream_of(d, on);
    const unsigned int direction = (unsigned int)how & 3u; /* one of TUTTI_COPY_* */
    cuda_enter(d);
    /* By direction, cudaMemcpyKind. */
    static const unsigned int kinds[] = {0, CUDART_TO_DEVICE, CUDART_TO_HOST, CUDART_ON_DEVICE};
    if (!bytes)
        return TUTTI_OK;
    if (d->capture.active &&
        direction != TUTTI_COPY_ON_DEVICE) /* again it would copy who knows what */
        return tutti_fail(err, TUTTI_E_STATE,
                          "%s: a copy between host and device cannot be gathered", d->label);
    if (direction == TUTTI_COPY_TO_DEVICE && !(how & TUTTI_COPY_NON_BLOCKING) &&
        bytes <= SMALL_BYTES)
        return copy_small(d, s, to, from, bytes, err);
    if (direction == TUTTI_COPY_TO_DEVICE && !(how & TUTTI_COPY_NON_BLOCKING))
        return copy_in(d, s, to, from, bytes, err);
    if (direction == TUTTI_COPY_FROM_DEVICE && !(how & TUTTI_COPY_NON_BLOCKING))
        return copy_out(d, s, to, from, bytes, err);
    return cuda_check(d, d->rt->cudaMemcpyAsync(to, from, bytes, kinds[direction], s), "a copy",
                      err);
}

tutti_status cuda_fill(void *device, void *on, void *memory, uint8_t byte, uint64_t bytes,
                       tutti_error *err)
{
    const cuda_device *d = device;
    cuda_enter(d);
    return bytes
               ? cuda_check(d,
                            d->rt->cudaMemsetAsync(memory, byte, bytes, cuda_stream_of(d, on)),
                            "a fill", err)
               : TUTTI_OK;
}
