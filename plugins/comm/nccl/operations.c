/* operations.c - all-to-all and all-gather of device memory: groups of NCCL's calls on a stream of their own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tutti_status take_request(nccl *n, tutti_error *err)
{
    if (n->count == n->capacity) {
        const uint32_t capacity = n->capacity ? 2 * n->capacity : 16;
        nccl_request *grown = realloc(n->requests, capacity * sizeof *grown);
        if (!grown)
            return tutti_fail(err, TUTTI_E_NOMEM, "nccl: no memory for %u operations",
                              capacity);
        memset(grown + n->capacity, 0, (capacity - n->capacity) * sizeof *grown);
        n->requests = grown;
        n->capacity = capacity;
    }
    nccl_request *r = &n->requests[n->count];
    return r->done ? TUTTI_OK : n->table->event_create(n->device, &r->done, err);
}

/* What the stream of the caller has so far comes first.  Also makes the device the calling thread's, which NCCL wants. */
static tutti_status begin_operation(nccl *n, tutti_error *err)
{
    tutti_status s = nccl_check(n, err);
    if (s || (s = take_request(n, err)) ||
        (s = n->table->event_record(n->device, n->before, n->followed, err)))
        return s;
    return n->table->event_wait(n->device, n->stream, n->before, err);
}

static tutti_status end_operation(nccl *n, const char *what, unsigned int code,
                                  uint64_t *ret_request, tutti_error *err)
{
    tutti_status s = nccl_settle(n, what, code, err);
    nccl_request *r = &n->requests[n->count];
    if (s || (s = n->table->event_record(n->device, r->done, n->stream, err)))
        return s;
    r->what = what;
    r->step = n->progress.step;
    (void)snprintf(r->phase, sizeof r->phase, "%s", n->progress.phase);
    *ret_request = ++n->count;
    return TUTTI_OK;
}

/* Calls between these two are one operation.  A call that fails does not leave the group open. */
static unsigned int end_group(const nccl *n, unsigned int code)
{
    const unsigned int last = n->api.ncclGroupEnd();
    return code && code != NCCL_IN_PROGRESS ? code : last;
}

static int goes_on(unsigned int code)
{
    return code == NCCL_SUCCESS || code == NCCL_IN_PROGRESS;
}

static unsigned int send_all(const nccl *n, const tutti_parts *send, const tutti_parts *receive)
{
    unsigned int code = n->api.ncclGroupStart();
    if (code)
        return code;
    for (int32_t r = 0; r < n->size && goes_on(code); r++) {
        if (send->bytes[r])
            code = n->api.ncclSend((const char *)send->data + send->offsets[r], send->bytes[r],
                                   NCCL_INT8, r, n->comm, n->stream);
        if (receive->bytes[r] && goes_on(code))
            code = n->api.ncclRecv((char *)receive->data + receive->offsets[r],
                                   receive->bytes[r], NCCL_INT8, r, n->comm, n->stream);
    }
    return end_group(n, code);
}

tutti_status nccl_all_to_all(void *self, const tutti_parts *send, const tutti_parts *receive,
                             uint64_t *ret_request, tutti_error *err)
{
    nccl *n = self;
    const tutti_status s = begin_operation(n, err);
    return s ? s : end_operation(n, "all-to-all", send_all(n, send, receive), ret_request, err);
}

/* One behind the other, all of one length. */
static int is_even(const nccl *n, const tutti_parts *parts)
{
    for (int32_t r = 0; r < n->size; r++)
        if (parts->bytes[r] != parts->bytes[0] || !parts->bytes[r] ||
            parts->offsets[r] != parts->offsets[0] + (uint64_t)r * parts->bytes[0])
            return 0;
    return 1;
}

static unsigned int gather_even(const nccl *n, const tutti_parts *parts)
{
    char *data = parts->data;
    return n->api.ncclAllGather(data + parts->offsets[n->rank], data + parts->offsets[0],
                                parts->bytes[0], NCCL_INT8, n->comm, n->stream);
}

/* NCCL's all-gather has parts of one length only; broadcasts of a group go on together. */
static unsigned int gather_parts(const nccl *n, const tutti_parts *parts)
{
    unsigned int code = n->api.ncclGroupStart();
    if (code)
        return code;
    for (int32_t r = 0; r < n->size && goes_on(code); r++) {
        char *part = (char *)parts->data + parts->offsets[r];
        if (parts->bytes[r])
            code = n->api.ncclBroadcast(part, part, parts->bytes[r], NCCL_INT8, r, n->comm,
                                        n->stream);
    }
    return end_group(n, code);
}

tutti_status nccl_all_gather(void *self, const tutti_parts *parts, uint64_t *ret_request,
                             tutti_error *err)
{
    nccl *n = self;
    const tutti_status s = begin_operation(n, err);
    if (s)
        return s;
    return end_operation(n, "all-gather",
                         is_even(n, parts) ? gather_even(n, parts) : gather_parts(n, parts),
                         ret_request, err);
}

tutti_status nccl_order(void *self, uint64_t request, tutti_error *err)
{
    nccl *n = self;
    const tutti_status s = nccl_check(n, err);
    if (s)
        return s;
    if (request < 1 || request > n->count)
        return tutti_fail(err, TUTTI_E_ARG, "nccl: there is no request %llu, of %u",
                          (unsigned long long)request, n->count);
    return n->table->event_wait(n->device, n->followed, n->requests[request - 1].done, err);
}
