/* operations.c - groups, sends, receives, broadcasts and all-gathers: work on a stream that waits for other ranks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl_standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A part of a group; `number` counts the messages of its two ranks. */
typedef struct move {
    enum { MOVE_SEND, MOVE_RECEIVE, MOVE_COPY } kind;
    int peer;
    unsigned number;
    const void *from;
    void *to;
    size_t bytes;
} move;

/* What goes on together on a stream.  The queue has a copy. */
typedef struct group {
    struct ncclComm *comm;
    struct CUstream_st *stream;
    int nmoves, ncalls;
    bool begun, stalls;
    shared_call calls[RANKS]; /* collectives in it */
    move moves[MOVES];
} group;

static group now; /* the one that is being made */
static int depth; /* of ncclGroupStart */

/* ---- on the stream ---- */

/* The k-th collective of all ranks is the same one. */
static void compare_calls(struct ncclComm *c, const shared_call *mine)
{
    shared_rank *me = &c->shared->ranks[c->rank];
    const unsigned k = atomic_load(&me->ncalls);
    me->calls[k % CALLS] = *mine;
    atomic_store(&me->ncalls, k + 1);
    for (int r = 0; r < c->size; r++) {
        const shared_rank *other = &c->shared->ranks[r];
        const unsigned n = atomic_load(&other->ncalls);
        if (n <= k || n > k + CALLS / 2 ||
            strcmp(other->calls[k % CALLS].text, mine->text) == 0)
            continue;
        (void)nccl_misuse("collective %u is %s on rank %d, %s on rank %d", k + 1,
                          other->calls[k % CALLS].text, r, mine->text, c->rank);
    }
}

/* What is sent is there for the others, and what is received is asked for. */
static void begin(group *g)
{
    struct ncclComm *c = g->comm;
    for (int k = 0; k < g->ncalls; k++)
        compare_calls(c, &g->calls[k]);
    for (int k = 0; k < g->nmoves; k++) {
        move *m = &g->moves[k];
        if (m->kind == MOVE_RECEIVE)
            m->number = atomic_fetch_add(&c->shared->wanted[m->peer][c->rank], 1);
        if (m->kind != MOVE_SEND)
            continue;
        m->number = atomic_load(&c->shared->sent[c->rank][m->peer]);
        if (!shared_write(c->folder, c->rank, m->peer, m->number, m->from, m->bytes))
            (void)nccl_misuse("a message of %zu bytes cannot be written", m->bytes);
        atomic_store(&c->shared->sent[c->rank][m->peer], m->number + 1);
    }
}

static bool has_come(const struct ncclComm *c, const move *m)
{
    if (m->kind == MOVE_RECEIVE)
        return atomic_load(&c->shared->sent[m->peer][c->rank]) > m->number;
    return m->kind == MOVE_COPY ||
           atomic_load(&c->shared->wanted[c->rank][m->peer]) > m->number;
}

/* As a kernel of NCCL's: it ends once both sides of all its parts are there, or it is given up. */
static int is_ready(void *data)
{
    group *g = data;
    if (!g->comm->open)
        return 1;
    if (g->stalls)
        return 0;
    if (!g->begun)
        begin(g);
    g->begun = true;
    for (int k = 0; k < g->nmoves; k++)
        if (!has_come(g->comm, &g->moves[k]))
            return 0;
    return 1;
}

static void run(void *data)
{
    const group *g = data;
    const struct ncclComm *c = g->comm;
    for (int k = 0; k < g->nmoves && c->open; k++) {
        const move *m = &g->moves[k];
        if (m->kind == MOVE_COPY)
            memmove(m->to, m->from, m->bytes);
        if (m->kind != MOVE_RECEIVE)
            continue;
        const size_t n = shared_read(c->folder, m->peer, c->rank, m->number, m->to, m->bytes);
        if (n != m->bytes)
            (void)nccl_misuse("rank %d sends %zu bytes to rank %d, which receives %zu", m->peer,
                              n, c->rank, m->bytes);
    }
}

static unsigned int enqueue(void)
{
    char what[64];
    struct ncclComm *c = now.comm;
    if (!c) /* an empty group */
        return NCCL_SUCCESS;
    (void)snprintf(what, sizeof what, "nccl group of %d", now.nmoves);
    const int number = ++c->noperations;
    now.stalls = number == nccl_standin_settings()->stall_call;
    const standin_call call = {run, &now, sizeof now, what, is_ready};
    const unsigned failed = tutti_cuda_standin.enqueue(now.stream, &call);
    if (number == nccl_standin_settings()->fail_call)
        c->error = (unsigned int)nccl_standin_settings()->fail_code;
    now = (group){.comm = NULL};
    return failed ? NCCL_UNHANDLED_CUDA_ERROR : NCCL_SUCCESS;
}

/* ---- calls ---- */

/* What NCCL forbids, or this host has no business to do. */
static unsigned int check(const char *what, struct ncclComm *comm, struct CUstream_st *stream,
                          const void *data, size_t bytes, unsigned int dtype)
{
    struct ncclComm *c = comm_find(comm);
    if (!c || c->finalized)
        return nccl_misuse("%s of a communicator that is gone", what);
    if (!comm_is_whole(c))
        return nccl_misuse("%s before the communicator is there", what);
    if (dtype != NCCL_INT8)
        return nccl_misuse("%s of dtype %u, want bytes", what, dtype);
    if (!stream || (c->stream && stream != c->stream))
        return nccl_misuse("%s on another stream than the communicator's", what);
    if (tutti_cuda_standin.is_captured(stream))
        return nccl_misuse("%s on a stream that is captured", what);
    if (!bytes || !tutti_cuda_standin.is_device(data, bytes))
        return nccl_misuse("%s of %zu bytes that are not the device's", what, bytes);
    if (now.comm && now.comm != c)
        return nccl_misuse("%s: a group of two communicators", what);
    c->stream = stream;
    now.comm = c;
    now.stream = stream;
    return NCCL_SUCCESS;
}

static void add(int kind, int peer, const void *from, void *to, size_t bytes)
{
    if (now.nmoves == MOVES)
        abort(); /* more ranks than RANKS would need more */
    now.moves[now.nmoves++] =
        (move){.kind = kind, .peer = peer, .from = from, .to = to, .bytes = bytes};
}

static unsigned int end_call(void)
{
    return depth ? NCCL_SUCCESS : enqueue();
}

EXPORT unsigned int ncclGroupStart(void)
{
    nccl_trace("group");
    depth++;
    return NCCL_SUCCESS;
}

EXPORT unsigned int ncclGroupEnd(void)
{
    nccl_trace("end");
    if (!depth)
        return nccl_misuse("ncclGroupEnd without ncclGroupStart");
    return --depth ? NCCL_SUCCESS : enqueue();
}

EXPORT unsigned int ncclSend(const void *data, size_t count, unsigned int dtype, int peer,
                             struct ncclComm *comm, struct CUstream_st *stream)
{
    nccl_trace("send %zu of dtype %u to %d, stream %d", count, dtype, peer,
               nccl_stream_number(stream));
    const unsigned int code = check("ncclSend", comm, stream, data, count, dtype);
    if (code)
        return code;
    if (peer < 0 || peer >= comm->size)
        return NCCL_INVALID_ARGUMENT;
    add(MOVE_SEND, peer, data, NULL, count);
    return end_call();
}

EXPORT unsigned int ncclRecv(void *data, size_t count, unsigned int dtype, int peer,
                             struct ncclComm *comm, struct CUstream_st *stream)
{
    nccl_trace("receive %zu of dtype %u from %d, stream %d", count, dtype, peer,
               nccl_stream_number(stream));
    const unsigned int code = check("ncclRecv", comm, stream, data, count, dtype);
    if (code)
        return code;
    if (peer < 0 || peer >= comm->size)
        return NCCL_INVALID_ARGUMENT;
    add(MOVE_RECEIVE, peer, NULL, data, count);
    return end_call();
}

static void note_call(const char *what, size_t bytes, int root)
{
    shared_call *call = &now.calls[now.ncalls++ % RANKS];
    (void)snprintf(call->text, sizeof call->text, "%s of %zu bytes, root %d", what, bytes,
                   root);
}

EXPORT unsigned int ncclBroadcast(const void *from, void *to, size_t count, unsigned int dtype,
                                  int root, struct ncclComm *comm, struct CUstream_st *stream)
{
    nccl_trace("broadcast %zu of dtype %u from %d, stream %d", count, dtype, root,
               nccl_stream_number(stream));
    const unsigned int code = check("ncclBroadcast", comm, stream, to, count, dtype);
    if (code)
        return code;
    if (root < 0 || root >= comm->size)
        return NCCL_INVALID_ARGUMENT;
    note_call("ncclBroadcast", count, root);
    if (root != comm->rank)
        add(MOVE_RECEIVE, root, NULL, to, count);
    for (int r = 0; r < comm->size && root == comm->rank; r++)
        if (r != root)
            add(MOVE_SEND, r, from, NULL, count);
    if (root == comm->rank && from != to)
        add(MOVE_COPY, root, from, to, count);
    return end_call();
}

EXPORT unsigned int ncclAllGather(const void *from, void *to, size_t count, unsigned int dtype,
                                  struct ncclComm *comm, struct CUstream_st *stream)
{
    nccl_trace("all_gather %zu of dtype %u, stream %d", count, dtype,
               nccl_stream_number(stream));
    const size_t all = count * (size_t)(comm_find(comm) ? comm->size : 1);
    const unsigned int code = check("ncclAllGather", comm, stream, to, all, dtype);
    if (code)
        return code;
    note_call("ncclAllGather", count, 0);
    for (int r = 0; r < comm->size; r++) {
        char *part = (char *)to + (size_t)r * count;
        if (r != comm->rank) {
            add(MOVE_SEND, r, from, NULL, count);
            add(MOVE_RECEIVE, r, NULL, part, count);
        } else if (part != from) {
            add(MOVE_COPY, r, from, part, count);
        }
    }
    return end_call();
}
