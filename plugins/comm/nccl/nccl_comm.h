/* nccl_comm.h - what the files of this plugin share: a rank's communicator, its stream, what has begun on it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NCCL_COMM_H
#define NCCL_COMM_H

#define TUTTI_USE_MINOR 2 /* tutti.device_collectives/1 */
#include "nccl_api.h"
#include "tutti/device_collectives.h"
#include "tutti/tutti.h"

/* An operation on its way. */
typedef struct nccl_request {
    void *done;       /* event; kept for the next one of this place */
    const char *what; /* "all-to-all" */
    uint64_t step;
    char phase[48];
} nccl_request;

typedef struct nccl {
    char file[256]; /* of the library */
    nccl_api api;
    void *library;
    struct ncclComm *comm; /* NULL: not joined, or given up */
    int32_t rank, size;
    const tutti_device_v1 *table;
    void *device;
    void *followed; /* the stream that operations follow; NULL: the device's own */
    void *stream;   /* of all operations */
    void *before;   /* event: what that stream had when an operation began */
    nccl_request *requests;
    uint32_t count, capacity;
    uint32_t timeout_ms;
    tutti_progress progress;
    tutti_error
        why; /* once something has failed, what every operation says; status 0: nothing has */
} nccl;

/* library.c.  Finds the library and its calls.  Errors: E_NOTFOUND, E_VERSION.  [control] */
TUTTI_NODISCARD tutti_status nccl_load(nccl *n, int *ret_version, tutti_error *err);

/* wait.c.  `code` of a call, once that is over: NCCL_IN_PROGRESS is waited for.  What fails is for good.  [step] */
TUTTI_NODISCARD tutti_status nccl_settle(nccl *n, const char *what, unsigned int code,
                                         tutti_error *err);
/* Gives the communicator up, and keeps the sentence; returns `status`.  [step] */
tutti_status nccl_give_up(nccl *n, tutti_status status, tutti_error *err, const char *format,
                          ...) TUTTI_PRINTF(4, 5);
/* What has failed before.  [step] */
TUTTI_NODISCARD tutti_status nccl_check(const nccl *n, tutti_error *err);
tutti_status nccl_finish(void *self, tutti_error *err);

/* operations.c, as the table has them. */
tutti_status nccl_all_to_all(void *self, const tutti_parts *send, const tutti_parts *receive,
                             uint64_t *ret_request, tutti_error *err);
tutti_status nccl_all_gather(void *self, const tutti_parts *parts, uint64_t *ret_request,
                             tutti_error *err);
tutti_status nccl_order(void *self, uint64_t request, tutti_error *err);

#endif
