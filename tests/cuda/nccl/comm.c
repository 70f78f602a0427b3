/* comm.c - communicators: joining, asynchronous errors, leaving, and what may not be done with them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl_standin.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

extern unsigned int cudaGetDevice(int *device);

/* Never freed: a handle that is used too late is known as one. */
static struct ncclComm comms[COMMS];
static int ncomms;

unsigned int nccl_misuse(const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is begun a line above */
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    nccl_trace("misuse: %s", text);
    tutti_cuda_standin.fail(text);
    return NCCL_INVALID_USAGE;
}

struct ncclComm *comm_find(struct ncclComm *comm)
{
    const bool known = comm >= comms && comm < comms + ncomms;
    return known && comm->open ? comm : NULL;
}

bool comm_is_whole(const struct ncclComm *c)
{
    for (int r = 0; r < c->size; r++)
        if (!atomic_load(&c->shared->ranks[r].joined))
            return false;
    return true;
}

EXPORT unsigned int ncclGetVersion(int *version)
{
    *version = nccl_standin_settings()->version;
    return NCCL_SUCCESS;
}

EXPORT unsigned int ncclGetUniqueId(nccl_id *id)
{
    nccl_trace("id");
    return shared_name(id) ? NCCL_SUCCESS : NCCL_SYSTEM_ERROR;
}

static unsigned int refuse(struct ncclComm *c, const char *why)
{
    (void)snprintf(c->last_error, sizeof c->last_error, "%s", why);
    nccl_trace("refused: %s", why);
    return c->error = NCCL_INVALID_USAGE;
}

static unsigned int take_place(struct ncclComm *c, int device)
{
    int none = 0, free_place = 0;
    if (!atomic_compare_exchange_strong(&c->shared->size, &none, c->size) && none != c->size)
        return refuse(c, "ranks differ in the number of ranks");
    if (!atomic_compare_exchange_strong(&c->shared->ranks[c->rank].joined, &free_place,
                                        device + 1))
        return refuse(c, "two ranks have one number");
    return NCCL_IN_PROGRESS;
}

/* Two ranks of a communicator are on two GPUs. */
static unsigned int check_devices(struct ncclComm *c)
{
    char text[120];
    const int mine = atomic_load(&c->shared->ranks[c->rank].joined);
    for (int r = 0; r < c->size && !c->checked; r++)
        if (r != c->rank && atomic_load(&c->shared->ranks[r].joined) == mine) {
            (void)snprintf(
                text, sizeof text,
                "Duplicate GPU detected : rank %d and rank %d both on CUDA device %d", c->rank,
                r, mine - 1);
            return refuse(c, text);
        }
    c->checked = true;
    return NCCL_SUCCESS;
}

EXPORT unsigned int ncclCommInitRankConfig(struct ncclComm **comm, int size, nccl_id id,
                                           int rank, nccl_config *config)
{
    int device = 0;
    nccl_trace("init rank %d of %d", rank, size);
    if (config->magic != NCCL_MAGIC || config->size < sizeof(nccl_config_2_14) ||
        config->version < NCCL_OLDEST)
        return nccl_misuse("ncclCommInitRankConfig: the config was not initialised");
    if (config->blocking)
        return nccl_misuse("ncclCommInitRankConfig: a call that blocks cannot be given up");
    if (rank < 0 || rank >= size || size > RANKS || ncomms == COMMS)
        return NCCL_INVALID_ARGUMENT;
    if (cudaGetDevice(&device))
        return NCCL_UNHANDLED_CUDA_ERROR;
    struct ncclComm *c = &comms[ncomms];
    *c = (struct ncclComm){.rank = rank, .size = size, .open = true};
    memcpy(c->folder, id.bytes, sizeof c->folder);
    if (!(c->shared = shared_open(c->folder)))
        return NCCL_INVALID_ARGUMENT;
    ncomms++;
    *comm = c;
    return take_place(c, device);
}

EXPORT unsigned int ncclCommGetAsyncError(struct ncclComm *comm, unsigned int *error)
{
    struct ncclComm *c = comm_find(comm);
    if (!c)
        return nccl_misuse("ncclCommGetAsyncError of a communicator that is gone");
    *error = c->error ? c->error : comm_is_whole(c) ? check_devices(c) : NCCL_IN_PROGRESS;
    return NCCL_SUCCESS;
}

/* What one rank has sent another has received. */
EXPORT unsigned int ncclCommFinalize(struct ncclComm *comm)
{
    struct ncclComm *c = comm_find(comm);
    nccl_trace("finalize");
    if (!c || c->finalized)
        return nccl_misuse("ncclCommFinalize of a communicator that is gone");
    c->finalized = true;
    for (int r = 0; r < c->size; r++)
        if (atomic_load(&c->shared->sent[c->rank][r]) >
            atomic_load(&c->shared->wanted[c->rank][r]))
            return nccl_misuse("rank %d sends more to rank %d than that receives", c->rank, r);
    return NCCL_SUCCESS;
}

EXPORT unsigned int ncclCommDestroy(struct ncclComm *comm)
{
    struct ncclComm *c = comm_find(comm);
    nccl_trace("destroy");
    if (!c || !c->finalized)
        return nccl_misuse("ncclCommDestroy of a communicator that is %s",
                           c ? "not finalized" : "gone");
    c->open = false;
    shared_close(c->shared, c->folder, c->rank, c->size);
    return NCCL_SUCCESS;
}

EXPORT unsigned int ncclCommAbort(struct ncclComm *comm)
{
    struct ncclComm *c = comm_find(comm);
    nccl_trace("abort");
    if (!c)
        return nccl_misuse("ncclCommAbort of a communicator that is gone");
    c->open = false; /* its work on streams ends at once */
    shared_close(c->shared, c->folder, c->rank, c->size);
    return NCCL_SUCCESS;
}

EXPORT const char *ncclGetErrorString(unsigned int error)
{
    static const char *const texts[] = {"no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error",
                                        "NCCL operation in progress"};
    return error < sizeof texts / sizeof *texts ? texts[error] : "unknown result code";
}

EXPORT const char *ncclGetLastError(struct ncclComm *comm)
{
    const struct ncclComm *c = comm_find(comm);
    return c ? c->last_error : "";
}
